/* What each layer carries: layers, the input and baselines against attributes. The table is also the way to a layer. */
const METRICS = { clusters: "Clusters", classifier: "Classifier" };
const N_STRIP = 10;

function drawStack() {
  const { metrics } = R.scores;
  const pick = (value) => {
    S.metric = metrics.indexOf(value);
    drawStack();
  };
  const options = metrics.map((metric) => [metric, METRICS[metric]]);
  put($("#stack-ctl"), metrics.length > 1 ? seg("Score", options, metrics[S.metric], pick, "stack-metric") : null);
  put($("#stack-how"), howScored());
  put($("#stack-fig"), stackTable(S.metric));
  put($("#says"), R.scores.attributes.map((attribute, a) => verdict(attribute, a)));
  markStack();
}

function howScored() {
  const { metrics, way, why } = R.scores;
  if (way === "none") return why;
  const isClusters = metrics[S.metric] === "clusters";
  const learned = {
    "cross-validated": "from the labels of four fifths of the samples and is scored on the others",
    others: "from the labels that the model was given",
    withheld: "from the labels that were not withheld",
  };
  const what = isClusters
    ? "Share of samples in the right cluster when a layer is clustered into as many clusters as the attribute has classes."
    : `Share of samples that a linear classifier of a layer has right, when it learns ${learned[way]}.`;
  const scored = {
    "cross-validated": "",
    others: " Scored only where the model was not given the label.",
    withheld:
      " The model was given every known label, so that it was fitted again five times, each time with the labels of a " +
      "fifth of the samples withheld, and is scored on those.",
  };
  const baselines =
    way === "cross-validated" ? "" : " Baselines marked “same labels”, and every classifier, were given the labels the model was given.";
  const bold =
    ` A score is bold where it is more than ${digits(R.scores.errors)} standard errors above every baseline; errors ` +
    "count whole groups of samples as one.";
  const hasInput = R.scores.rows.some((row) => row.kind === "input");
  return what + scored[way] + baselines + (hasInput ? "" : " The data are not at hand: the only baseline is chance.") + bold;
}

function stackTable(metric) {
  const { scores } = R, own = scores.rows.filter((row) => row.kind === "layer");
  if (!R.is_parallel) own.reverse();
  const others = (kind) => scores.rows.filter((row) => row.kind === kind);
  const hasChance = scores.attributes.some((attribute) => attribute.chance[metric] !== null) && scores.metrics.length;
  return h(
    "table",
    { class: "stack", testid: "stack-table" },
    h("caption", { class: "vh" }, "Layers, the input and baselines in rows, attributes in columns"),
    stackHead(),
    h(
      "tbody",
      { class: "layers" },
      own.map((row) => layerRow(row, metric)),
      others("own").filter((row) => isScoredIn(row, metric)).map((row) => plainRow(row, metric)),
      others("input").map((row) => inputRow(row, metric)),
    ),
    h(
      "tbody",
      { class: "base" },
      others("baseline").filter((row) => isScoredIn(row, metric)).map((row) => plainRow(row, metric)),
      hasChance ? chanceRow(metric) : null,
    ),
  );
}

const isScoredIn = (row, metric) => row.explained !== null || (row.cells[metric] || []).some((cell) => cell !== null);

function stackHead() {
  const parts = { image: "Most used components", words: "Most used components, by their strongest features" };
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      h("th", { scope: "col" }, h("span", { class: "vh" }, "Layer")),
      h("th", { scope: "col", class: "parts" }, parts[R.display.kind] || "Most used components"),
      h("th", { scope: "col", class: "ev" }, "Explains"),
      R.scores.attributes.map((a) =>
        h("th", { scope: "col", class: "a" }, a.name, h("br"), h("span", { class: "quiet" }, `${a.n_classes} classes`)),
      ),
    ),
  );
}

function layerRow(row, metric) {
  const layer = R.layers[row.layer];
  const open = () => {
    chooseLayer(row.layer);
    scrollToTop($("#layer"));
  };
  return h(
    "tr",
    { "data-layer": row.layer, testid: `stack-layer-${row.layer}`, on: { click: open } },
    h(
      "th",
      { scope: "row" },
      h("button", { class: "lname", type: "button" }, row.name),
      h("span", { class: "lsize" }, plural(row.n_components, ["component", "components"])),
    ),
    h("td", { class: "parts" }, componentStrip(layer)),
    explainedCell(row),
    cellsOf(row, metric),
  );
}

function explainedCell(row) {
  if (row.explained === null) return h("td", { class: "ev small quiet" }, "");
  const n = row.n_components;
  const title = `${fineShare(row.explained)} of the variance; the best any ${n} directions can do is ${fineShare(row.best)}`;
  return h(
    "td",
    { class: "ev", title },
    h("span", {}, share(row.explained), h("span", { class: "quiet small" }, `  best ${share(row.best)}`)),
    meter(row.explained, row.best),
  );
}

function componentStrip(layer) {
  const first = [...layer.order].slice(0, N_STRIP);
  if (layer.components && R.display.kind !== "bars") {
    return h("div", { class: "strip", "aria-hidden": "true" }, first.map((j) => componentPicture(layer, j, 44)));
  }
  return h("div", { class: "words3" }, first.slice(0, 4).map((j) => componentName(layer, j, 2)).join("  ·  "));
}

function inputRow(row, metric) {
  const { kind, names } = R.display;
  const step = Math.max(1, Math.floor(R.n_shown / N_STRIP));
  const strip = isImage()
    ? h("div", { class: "strip", "aria-hidden": "true" }, [...Array(Math.min(N_STRIP, R.n_shown)).keys()].map((k) => thumb(sprite, k * step, 44, { role: null }, "span")))
    : h("div", { class: "words3" }, kind === "image" || !names.length ? "" : `${names.slice(0, 7).join("  ·  ")}${names.length > 7 ? " …" : ""}`);
  return h(
    "tr",
    { class: "ground", testid: "stack-input" },
    h(
      "th",
      { scope: "row" },
      h("span", { class: "lname plain" }, row.name),
      h("span", { class: "lsize" }, plural(row.n_components, kind === "image" ? ["value", "values"] : ["feature", "features"])),
    ),
    h("td", { class: "parts" }, strip),
    h("td", { class: "ev" }),
    cellsOf(row, metric),
  );
}

const plainRow = (row, metric) =>
  h(
    "tr",
    {},
    h("th", { scope: "row" }, row.name),
    h("td", { class: "parts" }),
    h("td", { class: "ev small" }, row.explained === null ? "" : share(row.explained)),
    cellsOf(row, metric),
  );

function chanceRow(metric) {
  const isClusters = R.scores.metrics[metric] === "clusters";
  const cells = R.scores.attributes.map((a) => heat({ value: a.chance[metric], error: null, gain: null }, a, metric));
  return h(
    "tr",
    { testid: "stack-chance" },
    h("th", { scope: "row" }, isClusters ? "shuffled labels" : "largest class"),
    h("td", { class: "parts" }),
    h("td", { class: "ev" }),
    cells,
  );
}

const cellsOf = (row, metric) => R.scores.attributes.map((a, i) => heat(row.cells[metric] ? row.cells[metric][i] : null, a, metric));

function heat(cell, attribute, metric) {
  if (cell === null || cell.value === null) return h("td", { class: "cell" }, h("div", { class: "heat empty" }, "–"));
  const chance = attribute.chance[metric], error = cell.error === null ? "" : ` ± ${(100 * cell.error).toFixed(1)}`;
  const title =
    `${attribute.name}: ${(100 * cell.value).toFixed(1)}${error} % of ${whole(attribute.n_scored)} samples; ` +
    `by chance ${(100 * chance).toFixed(1)} %`;
  const isGain = cell.gain !== null;
  return h(
    "td",
    { class: "cell", "data-attr": attribute.name },
    h(
      "div",
      { class: "heat", style: { background: tint(cell.value, chance) }, title },
      isGain ? h("b", {}, share(cell.value)) : share(cell.value),
      isGain ? h("i", {}, gainText(cell.gain)) : null,
    ),
  );
}

function gainText(gain) {
  const points = Math.round(100 * gain);
  return `+${points} ${points === 1 ? "point" : "points"}`;
}

/* Below the table: each attribute in a sentence, a loss in the same type as a gain. */
function verdict(attribute, a) {
  const own = R.scores.rows.filter((row) => ["layer", "own"].includes(row.kind));
  const scored = own.filter((row) => row.cells[S.metric] && row.cells[S.metric][a]);
  const title = h("span", { class: "k" }, attribute.name);
  if (!scored.length || !attribute.best[S.metric]) return h("p", {}, title, "Not scored: too few labels that were not given.");
  const row = scored.reduce((x, y) => (y.cells[S.metric][a].value > x.cells[S.metric][a].value ? y : x));
  const cell = row.cells[S.metric][a], [name, base] = attribute.best[S.metric];
  const mine = `${share(cell.value)} in ${row.name}`;
  const verdictText = cell.gain !== null ? mine : cell.value > base ? `${mine}: no clear gain` : `No gain: ${mine}`;
  const chance = name === "chance" ? "" : `, ${share(attribute.chance[S.metric])} by chance`;
  return h("p", {}, title, h("b", {}, verdictText), `, ${share(base)} ${name === "chance" ? "by chance" : `with ${name}`}${chance}.`);
}

function markStack() {
  for (const row of $$("#stack-fig tr[data-layer]")) row.setAttribute("aria-current", String(+row.dataset.layer === S.layer));
}
