/* What the last refit changed, and how accurate the model is estimated to be. */
function showChanges() {
  const { view } = studio, { fit } = view, changes = view.changes || [];
  const n = changes.reduce((sum, [, , rows]) => sum + rows.length, 0);
  const more = fit && view.guesses ? fit.n_labels - fit.n_before : 0;
  const title = !fit ? "Starting" : !view.guesses ? "No model of labels yet" : more > 0
    ? `After ${whole(more)} more ${more === 1 ? "label" : "labels"}`
    : more < 0 ? `After ${whole(-more)} fewer` : `${whole(fit.n_labels)} labels`;
  const refit = fit ? `fitted in ${fit.seconds.toFixed(1)} s` : "the first fit takes longest";
  const text = view.guesses ? `${refit}; ${n ? whole(n) : "no"} ${n === 1 ? "guess" : "guesses"} changed` : `${refit}. Give two values to some ${noun()[1]}.`;
  put($("#changed-head"), h("h2", {}, title), h("p", { class: "small" }, text));
  put(
    $("#moved"),
    changes.slice(0, 8).map(([was, now, rows]) =>
      h(
        "div",
        { class: "mv" },
        face(rows[0], { on: { click: () => select(rows) } }, 52),
        h("span", {}, h("s", {}, values()[was]), h("br"), values()[now], h("br"), h("span", { class: "quiet" }, plural(rows.length, noun()))),
      ),
    ),
  );
}

function showEstimate() {
  const { estimates, guesses } = studio.view, last = estimates.at(-1);
  if (!last) {
    const text = "An estimate of the accuracy needs the labels of a few suggestions that were drawn at random.";
    put($("#estimate"), guesses ? h("p", { class: "small none" }, text) : null);
    return;
  }
  const sentence = `of ${last.n} drawn at random guessed right, without their own labels`;
  const beside =
    `95\u00a0%: ${share(last.low)} to ${share(last.high)}. ` +
    `Linear classifier ${share(last.linear)}, most frequent value ${share(last.largest)}.`;
  put(
    $("#estimate"),
    h(
      "div",
      { class: "est" },
      h("div", { class: "big" }, share(last.accuracy)),
      h("div", { class: "small" }, sentence, h("br"), h("span", { class: "quiet" }, beside)),
      estimates.length > 1 ? estimateCurve(estimates) : null,
    ),
  );
}

/* The estimates so far, over the number of labels; the bars are their intervals. */
function estimateCurve(estimates) {
  const [width, height] = [132, 54], last = estimates.at(-1);
  const low = Math.min(...estimates.map((e) => e.n_labels)), high = Math.max(...estimates.map((e) => e.n_labels));
  const x = (e) => 8 + ((width - 16) * (e.n_labels - low)) / Math.max(1, high - low);
  const y = (value) => height - 6 - (height - 12) * value;
  return h(
    "svg",
    { width, height, role: "img", "aria-label": "Estimates over the number of labels" },
    h("line", { class: "gridl", x1: 8, x2: width - 8, y1: y(last.largest), y2: y(last.largest), "stroke-dasharray": "2 3" }),
    estimates.map((e) => h("line", { class: "gridl", x1: x(e), x2: x(e), y1: y(e.low), y2: y(e.high) })),
    h("polyline", { class: "curve", points: estimates.map((e) => `${x(e)},${y(e.accuracy)}`).join(" ") }),
    estimates.map((e) =>
      h("circle", { cx: x(e), cy: y(e.accuracy), r: 3, fill: "var(--accent)" }, h("title", {}, `${e.n_labels} labels: ${share(e.accuracy)}`)),
    ),
  );
}
