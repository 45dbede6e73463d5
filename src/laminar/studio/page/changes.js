/* What the last refit changed, and how accurate the model is estimated to be. */
function showChanges() {
  const { view } = studio, changes = view.changes || [];
  put($("#changed-head"), h("h2", {}, changeTitle(view)), h("p", { class: "small" }, changeText(view, changes)));
  put($("#moved"), changes.slice(0, 8).map(changeCard));
}

function changeTitle({ fit, guesses }) {
  if (!fit) return "Starting";
  if (!guesses) return "No model of labels yet";
  const more = fit.n_labels - fit.n_before;
  if (!more) return plural(fit.n_labels, ["label", "labels"]);
  return more > 0 ? `After ${plural(more, ["more label", "more labels"])}` : `After ${whole(-more)} fewer`;
}

function changeText({ fit, guesses }, changes) {
  if (!fit) return "The first fit takes longest.";
  const seconds = `fitted in ${fit.seconds.toFixed(1)} s`;
  if (!guesses) return `${seconds}. Give two values to some ${noun()[1]}.`;
  if (fit.number === 1) return `${seconds}.`; // nothing to compare it with
  const n = changes.reduce((sum, [, , rows]) => sum + rows.length, 0);
  return `${seconds}; ${n ? plural(n, ["guess", "guesses"]) : "no guesses"} changed`;
}

/* Samples whose guess changed from one value to another. */
function changeCard([was, now, rows]) {
  const count = h("span", { class: "quiet" }, plural(rows.length, noun()));
  return h(
    "div",
    { class: "mv" },
    face(rows[0], { on: { click: () => select(rows) } }, 52),
    h("span", {}, h("s", {}, values()[was]), h("br"), values()[now], h("br"), count),
  );
}

function showEstimate() {
  const { estimates, guesses, n_drawn: drawn } = studio.view, last = estimates.at(-1);
  if (!last) {
    const few = "An estimate of the accuracy needs the labels of a few suggestions that were drawn at random.";
    const text = drawn > 1 ? "The accuracy is estimated next, when no labels come for a while." : few;
    put($("#estimate"), guesses ? h("p", { class: "small none" }, text) : null);
    return;
  }
  const sentence = `of ${last.n} drawn at random guessed right, without their own labels`;
  const beside =
    `95\u00a0%: ${share(last.low)} to ${share(last.high)}. ` +
    `Linear classifier ${share(last.linear)}, most frequent value ${share(last.largest)}.`;
  const isLow = last.n_labels < 5 * values().length; // a withheld label is then a large part of those of its value
  const quiet = h("span", { class: "quiet" }, beside, isLow ? " Too low while values have few labels." : "");
  put(
    $("#estimate"),
    h(
      "div",
      { class: "est" },
      h("div", { class: "big" }, share(last.accuracy)),
      h("div", { class: "small" }, sentence, h("br"), quiet),
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
    h("line", {
      class: "gridl", x1: 8, x2: width - 8, y1: y(last.largest), y2: y(last.largest), "stroke-dasharray": "2 3",
    }),
    estimates.map((e) => h("line", { class: "gridl", x1: x(e), x2: x(e), y1: y(e.low), y2: y(e.high) })),
    h("polyline", { class: "curve", points: estimates.map((e) => `${x(e)},${y(e.accuracy)}`).join(" ") }),
    estimates.map((e) =>
      h(
        "circle",
        { cx: x(e), cy: y(e.accuracy), r: 3, fill: "var(--accent)" },
        h("title", {}, `${e.n_labels} labels: ${share(e.accuracy)}`),
      ),
    ),
  );
}
