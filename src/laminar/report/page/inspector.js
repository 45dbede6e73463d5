/* Beside the map: one sample, a selection, or a component. */
function facts(i) {
  return h(
    "dl",
    { class: "facts" },
    R.attributes.map((a) => [
      h("dt", {}, a.name),
      h("dd", {}, className(a, a.codes[i]), a.given[i] ? h("i", {}, "  given to the model") : null),
    ]),
  );
}

/* Features with the largest values of sample i, of wide data and of texts. */
function topOfSample(i, n) {
  const { features, weights, largest, n_top: width } = R.samples.top;
  return [...Array(Math.min(n, width)).keys()]
    .map((k) => [R.display.names[features[i * width + k]] ?? "", (weights[i * width + k] / 127) * largest[i]])
    .filter(([, weight]) => weight !== 0);
}

function picture(i, size) {
  if (isImage()) return thumb(sprite, i, size, { "aria-label": describe(i) }, "span");
  if (R.display.kind === "line" && R.samples.values) {
    const box = curve([{ values: sampleRow(i) }], { width: 132, height: 80, axis: false, label: R.ids[i] });
    box.style.width = `${size}px`;
    return box;
  }
  return null;
}

/* The beginning of a text, or the features with the largest values. */
function wordsOf(i, n) {
  if (R.samples.texts) return h("p", { class: "small" }, beginning(R.samples.texts[i], 24 * n));
  return R.samples.top ? h("p", { class: "small" }, topOfSample(i, n).map(([name]) => name).join(", ")) : null;
}

const beginning = (text, length) => (text.length > length ? `${text.slice(0, length)} …` : text);

const card = (i) => [picture(i, 84), h("div", {}, h("div", { class: "idn" }, R.ids[i]), wordsOf(i, 8), facts(i))];

const small = (i, size = 42) =>
  isImage()
    ? thumb(sprite, i, size, { title: describe(i), "aria-label": describe(i), on: { click: () => choose(i) } })
    : h("li", {}, h("button", { class: "linklike", type: "button", on: { click: () => choose(i) } }, R.ids[i]));

function listOf(samples, size, columns = "") {
  const items = [...samples].map((i) => small(i, size));
  return isImage()
    ? h("div", { class: `thumbs ${columns}` }, items)
    : h("ul", { class: `small names ${samples.length > 12 ? "two-columns" : ""}` }, items);
}

function drawInspector() {
  if (S.selection.size) drawSelection();
  else if (S.component >= 0) drawOneComponent();
  else drawOneSample();
}

function drawOneSample() {
  const i = S.sample, layer = thisLayer();
  const open = () => choose(i, { isScrolled: true });
  put(
    $("#inspect"),
    h(
      "div",
      { class: "big" },
      picture(i, 132),
      h(
        "div",
        {},
        h("div", { class: "idn" }, R.ids[i]),
        facts(i),
        h("p", { class: "noprint" }, h("button", { class: "linklike", type: "button", testid: "open-sample", on: { click: open } }, "codes and reconstruction")),
      ),
    ),
    wordsOf(i, 12),
    h("p", { class: "label" }, `Nearest in ${layer.name}`),
    listOf(nearestIn(layer, i), 54, "five"),
    h("p", { class: "small quiet noprint hint" }, "Click a point to open it. Drag around points to list them."),
  );
}

function drawSelection() {
  const ids = [...S.selection];
  const save = () =>
    downloadCsv("selection.csv", [
      ["id", ...R.attributes.map((a) => a.name)],
      ...ids.map((i) => [R.ids[i], ...R.attributes.map((a) => (a.codes[i] < 0 ? "" : a.classes[a.codes[i]]))]),
    ]);
  put(
    $("#inspect"),
    h("h3", { testid: "selection-count" }, `${plural(ids.length, R.noun)} selected`),
    h(
      "div",
      { class: "row" },
      h("button", { class: "btn", type: "button", testid: "export-csv", on: { click: save } }, "Save ids as CSV"),
      h("button", { class: "linklike", type: "button", testid: "clear-selection", on: { click: clearSelection } }, "clear"),
    ),
    listOf(ids.slice(0, 48), 40, "eight"),
    ids.length > 48 ? h("p", { class: "small" }, `and ${ids.length - 48} more in the CSV`) : null,
    R.attributes.map((a) => [
      h("p", { class: "label" }, h("b", {}, a.name), " · the line is its share in all"),
      shareBars(classShares(a, ids)),
    ]),
  );
}

/* The most frequent classes of a selection. */
function classShares(attribute, ids) {
  const inside = new Array(attribute.classes.length).fill(0), all = inside.slice();
  let known = 0, selected = 0;
  for (const code of attribute.codes) if (code >= 0) [all[code], known] = [all[code] + 1, known + 1];
  for (const i of ids) if (attribute.codes[i] >= 0) [inside[attribute.codes[i]], selected] = [inside[attribute.codes[i]] + 1, selected + 1];
  return inside
    .map((count, c) => [attribute.classes[c], count / (selected || 1), all[c] / (known || 1)])
    .filter(([, value]) => value > 0)
    .sort((x, y) => y[1] - x[1])
    .slice(0, 4);
}

function drawOneComponent() {
  const layer = thisLayer(), j = S.component, column = (i) => layer.codes[i * layer.size + j];
  const samples = [...Array(R.n_shown).keys()].sort((a, b) => column(b) - column(a));
  const used = samples.filter((i) => column(i) > 0).length;
  const isDrawn = Boolean(layer.components) && R.display.kind !== "bars";
  put(
    $("#inspect"),
    h(
      "div",
      { class: "big" },
      isDrawn ? componentPicture(layer, j, 148) : null,
      h(
        "div",
        {},
        h("h3", {}, isDrawn ? `Component ${j + 1}` : componentName(layer, j)),
        h("p", { class: "small" }, `${fineShare(layer.use[j])} of what the layer uses; an equal share would be ${fineShare(1 / layer.size)}. In ${used} of ${R.n_shown} codes.`),
      ),
    ),
    h("p", { class: "label" }, `The ${R.noun[1]} that use it most`),
    listOf(samples.slice(0, 24), 40, "eight"),
  );
}

function clearSelection() {
  S.selection.clear();
  drawInspector();
  recolour();
}
