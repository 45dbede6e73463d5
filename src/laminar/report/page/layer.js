/* Inside a layer: tabs, the map with its colours, and what hangs on them. */
function styleOfMap() {
  const layer = thisLayer();
  if (S.component >= 0) {
    const { codes, size } = layer;
    return { of: (i) => ({ colour: amount(codes[i * size + S.component] / 255), shape: SHAPES.disc }), isLit: null, names: null, classes: null };
  }
  const isCluster = S.colour === "cluster", attribute = isCluster ? null : R.attributes[+S.colour];
  const names = isCluster ? layer.clusters.map((_, c) => `cluster ${c + 1}`) : attribute.classes;
  const codes = isCluster ? layer.labels : attribute.codes;
  const styles = names.map((_, c) => classStyle(c, names.length, !isCluster && attribute.is_ordered));
  const unknown = classStyle(-1);
  let isLit = null;
  if (S.spot >= 0) isLit = (i) => codes[i] === S.spot;
  else if (S.selection.size) isLit = (i) => S.selection.has(i);
  else if (S.pinned.size) isLit = (i) => S.pinned.has(codes[i]);
  return { of: (i) => (codes[i] < 0 ? unknown : styles[codes[i]]), isLit, names, codes, classes: styles };
}

function recolour() {
  map.style = styleOfMap();
  map.draw();
}

function drawLegend() {
  const { names, codes, classes } = styleOfMap(), box = $("#legend");
  if (S.component >= 0) {
    const back = () => {
      S.component = -1;
      drawLayer(false);
    };
    put(box, codeScale(thisLayer().largest_codes[S.component], componentName(thisLayer(), S.component)), h("button", { class: "linklike", type: "button", on: { click: back } }, "back to classes"));
    return;
  }
  const counts = new Array(names.length).fill(0);
  for (const code of codes) if (code >= 0) counts[code]++;
  const items = names.map((name, c) => ({ name, count: counts[c], style: classes[c] }));
  const onSpot = (c) => {
    S.spot = c;
    recolour();
  };
  const onPin = (c) => {
    if (!S.pinned.delete(c)) S.pinned.add(c);
    drawLegend();
    recolour();
    $(`[data-testid=legend-${c}]`)?.focus();
  };
  put(box, legend(items, S.pinned, { onSpot, onPin, noun: R.noun }));
}

function drawLayer(isMoving = true) {
  const layer = thisLayer();
  drawTabs();
  put($("#layer-says"), layerSentence(layer));
  drawMapBar();
  Object.assign(map, { sprite, isPictures: S.isPictures && isImage(), current: S.sample, style: styleOfMap() });
  map.canvas.setAttribute(
    "aria-label",
    `Map of ${plural(R.n_shown, R.noun)} by ${layerName(layer)}. Arrow keys go from one to the next, Enter opens it, Space adds it to the selection.`,
  );
  map.set(layer.map, isMoving);
  put($("#map-says"), `${layer.map_how}. Distances between far groups mean little.`);
  drawLegend();
  drawInspector();
  drawClusters();
  drawComponents();
}

function layerSentence(layer) {
  const parts = [];
  if (layer.explained !== null) {
    parts.push(`${layer.size} components explain ${fineShare(layer.explained)} of the variance; the best any ${layer.size} directions can do is ${fineShare(layer.best)}.`);
  } else parts.push(`${plural(layer.size, ["component", "components"])}.`);
  if (!layer.is_linear) parts.push("Its codes do not add up to samples by themselves, so that there is no reconstruction.");
  if (layer.largest_over_median > 1000) {
    parts.push(`Its largest code is ${whole(Math.round(layer.largest_over_median))} times the median: components may cancel each other.`);
  }
  return parts.join(" ");
}

function drawTabs() {
  const tab = (layer, i) => {
    const keydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      chooseLayer(i + step);
      $$("#tabs button")[S.layer].focus();
    };
    const isChosen = i === S.layer;
    return h(
      "button",
      {
        type: "button", role: "tab", id: `tab-${i}`, "aria-selected": String(isChosen), "aria-controls": "layer-panel",
        tabindex: isChosen ? 0 : -1, testid: `tab-layer-${i}`, on: { click: () => chooseLayer(i), keydown },
      },
      layer.name,
      h("sup", {}, String(layer.size)),
    );
  };
  put($("#tabs"), R.layers.map(tab));
  $("#layer-panel").setAttribute("aria-labelledby", `tab-${S.layer}`);
}

function drawMapBar() {
  const change = (event) => {
    S.colour = event.target.value;
    S.component = -1;
    S.pinned.clear();
    drawLegend();
    recolour();
    drawClusters();
  };
  const option = (value, text, properties = {}) => h("option", { value, selected: S.component < 0 && S.colour === value, ...properties }, text);
  const select = h(
    "select",
    { id: "colour", testid: "colour-by", on: { change } },
    R.attributes.map((a, i) => option(String(i), a.name)),
    option("cluster", "cluster of this layer"),
    S.component >= 0 ? option("component", `component ${S.component + 1}`, { selected: true, disabled: true }) : null,
  );
  const draw = (value) => {
    S.isPictures = map.isPictures = value === "pictures";
    map.draw();
  };
  put(
    $("#mapbar"),
    h("label", { class: "lab" }, "Colour by", select),
    isImage() ? seg("Draw as", [["dots", "Dots"], ["pictures", "Pictures"]], S.isPictures ? "pictures" : "dots", draw, "map-draw") : null,
    mapTools(map),
  );
}
