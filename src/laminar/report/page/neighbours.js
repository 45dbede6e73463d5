/* Nearest neighbours of the sample in each layer, in the input, and what chance would give. */
function drawNeighbours() {
  const i = S.sample, rows = R.layers.map((layer) => neighbourRow(layer.name, nearestIn(layer, i), false));
  const k = R.layers[0].n_neighbours;
  if (R.input_neighbours) rows.push(neighbourRow("input", rowOf(R.input_neighbours, k, i), true));
  put(
    $("#near"),
    h(
      "table",
      { class: "near", testid: "neighbours" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "vh" }, "Layer")), h("th", { scope: "col", class: "pictures" }, h("span", { class: "vh" }, "Neighbours")), R.attributes.map((a) => h("th", { scope: "col", class: "s" }, "same", h("br"), a.name)))),
      h("tbody", {}, rows, R.attributes.length ? chanceOfNeighbours(i, k) : null),
    ),
  );
}

function neighbourRow(name, near, isInput) {
  const pictures = isImage()
    ? h("div", { class: "thumbs" }, [...near].map((j) => small(j, 52)))
    : h("div", { class: "small" }, [...near].slice(0, 6).map((j, k) => [k ? ",  " : "", h("button", { class: "linklike", type: "button", on: { click: () => choose(j) } }, R.ids[j])]));
  return h(
    "tr",
    { class: isInput ? "raw" : null },
    h("th", { scope: "row" }, name),
    h("td", {}, pictures),
    R.attributes.map((a) => {
      const own = a.codes[S.sample], known = [...near].filter((j) => a.codes[j] >= 0);
      const same = known.filter((j) => a.codes[j] === own).length;
      return h("td", { class: "s", "data-k": a.name }, own < 0 || !known.length ? "–" : [h("b", {}, String(same)), ` of ${known.length}`]);
    }),
  );
}

function chanceOfNeighbours(i, k) {
  const cell = (a) => {
    const known = a.codes.reduce((n, code) => n + (code >= 0 ? 1 : 0), 0), own = a.codes[i];
    const same = a.codes.reduce((n, code) => n + (code === own ? 1 : 0), 0) - 1;
    return own < 0 || known < 2 ? "–" : ((k * same) / (known - 1)).toFixed(1);
  };
  return h("tr", { class: "raw" }, h("th", { scope: "row" }, "by chance"), h("td", {}), R.attributes.map((a) => h("td", { class: "s", "data-k": a.name }, cell(a))));
}
