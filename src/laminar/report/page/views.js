/* Several views: weights, and what the shared codes explain of each. */
function drawViews() {
  $("#views-part").hidden = !R.views;
  if (!R.views) return;
  const { rows, shared, k } = R.views, { attributes } = R.scores;
  const cell = (value, a) => (value === null ? h("td", { class: "cell" }, h("div", { class: "heat empty" }, "–")) : h("td", { class: "cell" }, h("div", { class: "heat", style: { background: tint(value, attributes[a].chance[0] ?? 0) } }, share(value))));
  const row = (view) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: "lname plain" }, view.name), h("span", { class: "lsize" }, `${plural(view.n_features, ["feature", "features"])}${view.n_samples !== null && view.n_samples < R.n_samples ? `, ${whole(view.n_samples)} ${R.noun[1]}` : ""}`)),
      h("td", {}, view.weight === null ? "–" : [h("span", {}, view.weight.toFixed(2)), meter(view.weight, 1 / rows.length, "82%")]),
      h("td", {}, view.explained === null ? "–" : [h("span", {}, share(view.explained), h("span", { class: "quiet small" }, `  best ${share(view.best)}`)), meter(view.explained, view.best, "82%")]),
      view.clusters.map(cell),
    );
  put(
    $("#views"),
    h("p", { class: "small how" }, `The tick of a weight is an equal share, that of a bar what ${k} directions of that view alone could explain. The columns of attributes are clusters of each view by itself, and of the shared codes.`),
    h(
      "table",
      { class: "stack viewt" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "vh" }, "View")), h("th", { scope: "col" }, "Weight"), h("th", { scope: "col" }, "Shared codes explain"), attributes.map((a) => h("th", { scope: "col", class: "a" }, a.name)))),
      h("tbody", { class: "layers" }, rows.map(row)),
      h("tbody", { class: "base" }, h("tr", {}, h("th", { scope: "row" }, "shared codes"), h("td", {}), h("td", {}), shared.map(cell))),
    ),
  );
}
