/* How the model was fitted, and where it comes from. */
function drawTraining() {
  put($("#train-fig"), R.training.bands ? bandTable() : objective());
  const row = ([name, value, isChanged]) => h("tr", { class: isChanged ? "changed" : null }, h("th", { scope: "row" }, name), h("td", {}, value));
  put(
    $("#settings"),
    h("h3", {}, "Settings"),
    h("table", { class: "set", testid: "settings" }, h("tbody", {}, R.settings.map(row))),
    h("p", { class: "small quiet" }, "Bold differs from the default."),
  );
  const copy = (event) => {
    navigator.clipboard?.writeText(R.provenance.command);
    event.currentTarget.textContent = "copied";
  };
  put(
    $("#prov"),
    h("h3", {}, "Where it comes from"),
    h("table", { class: "set", testid: "provenance" }, h("tbody", {}, R.provenance.rows.map(row))),
    h("p", { class: "label" }, "Run it again"),
    h("pre", { tabindex: 0, testid: "command" }, R.provenance.command),
    h("button", { class: "linklike noprint", type: "button", on: { click: copy } }, "copy"),
  );
}

function courseSentence() {
  const { n_iter: n, is_converged: isConverged, kkt_residual: residual, seconds } = R.training;
  const parts = [];
  if (n !== null) parts.push(`${isConverged ? "Converged" : isConverged === false ? "Stopped at the limit" : "Ended"} after ${plural(n, ["iteration", "iterations"])}`);
  if (seconds !== null) parts.push(`${digits(seconds)} s`);
  if (residual !== null) parts.push(`KKT residual ${residual.toExponential(1)}`);
  return parts.length ? `${parts.join(", ")}.` : "";
}

function objective() {
  const { curves } = R.training;
  const chart = ({ name, values, length }) =>
    curve([{ values }], {
      height: curves.length > 1 ? 150 : 230, title: curves.length > 1 ? name : "", from: "1", to: plural(length, ["iteration", "iterations"]),
      label: `${name}: from ${digits(values[0])} to ${digits(values.at(-1))} in ${length} iterations`,
    });
  const none = "This model keeps no values of its objective.";
  return [h("h3", {}, "Objective"), h("p", { class: "small" }, courseSentence() || (curves.length ? "" : none)), curves.filter((c) => c.values.length > 1).map(chart)];
}

function bandTable() {
  const { names, rows } = R.training.bands, used = names.map((_, b) => b).filter((b) => rows.some((row) => row.weights[b] > 0.005));
  const cell = (weight) => h("td", { class: "cell" }, h("div", { class: "heat", style: { background: tint(weight, 0) } }, weight < 0.005 ? "·" : weight.toFixed(2)));
  return [
    h("h3", {}, "What the labels chose"),
    h("p", { class: "small" }, `Weights of the bands of the neighbourhood graphs, by the labels that were given. ${courseSentence()}`),
    h(
      "table",
      { class: "stack bands" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "vh" }, "Band")), rows.map((row) => h("th", { scope: "col", class: "a" }, row.name)))),
      h("tbody", { class: "base" }, used.map((b) => h("tr", {}, h("th", { scope: "row" }, names[b]), rows.map((row) => cell(row.weights[b]))))),
    ),
  ];
}
