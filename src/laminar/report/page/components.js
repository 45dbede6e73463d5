/* Components: pictures, lines, bars of columns or words. */
const FEW = { image: 45, line: 18, bars: 12, words: 12 };

/* Component j in the units of the page; only of layers with `components`. */
const componentRow = (layer, j) => rowOf(layer.components, layer.components.length / layer.size, j);

function componentPicture(layer, j, size) {
  const values = componentRow(layer, j);
  if (R.display.kind === "line") {
    const box = curve([{ values }], { width: 64, height: 40, axis: false, label: componentName(layer, j) });
    box.classList.add("sparkline");
    if (size) box.style.width = `${size}px`;
    return box;
  }
  const canvas = h("canvas", { class: "comp", style: { width: `${size}px` } });
  return paintSigned(canvas, values, R.display, 127);
}

/* Largest features of component j: [[name, weight], ...]. */
function topFeatures(layer, j, n) {
  const { features, weights, largest, n_top: width } = layer.top;
  return [...Array(Math.min(n, width)).keys()]
    .map((k) => [R.display.names[features[j * width + k]] ?? "", (weights[j * width + k] / 127) * largest[j]])
    .filter(([, weight]) => weight !== 0);
}

function componentName(layer, j, n = 3) {
  if (!layer.top) return `component ${j + 1}`;
  const names = topFeatures(layer, j, n).map(([name, weight]) => (weight < 0 ? `low ${name}` : name));
  return names.join(", ") || `component ${j + 1}`;
}

function drawComponents() {
  const layer = thisLayer(), few = FEW[R.display.kind], isDrawn = Boolean(layer.components) && R.display.kind !== "bars";
  const list = S.areAllComponents ? [...layer.order] : [...layer.order].slice(0, few);
  const says = isDrawn ? "Most used first; the bar below is its share. Choose one to see who uses it." : "Most used first. Choose one to see who uses it.";
  const hasScale = isDrawn && layer.is_signed && R.display.kind === "image";
  put($("#comps-says"), says, hasScale ? h("span", { class: "scale" }, "takes away", signedScale(), "adds") : null);
  const box = $("#comps");
  box.className = isDrawn ? (R.display.kind === "line" ? "comps wide" : "comps") : "compcards";
  put(box, list.map((j) => (isDrawn ? drawnComponent(layer, j) : listedComponent(layer, j))));
  const toggle = () => {
    S.areAllComponents = !S.areAllComponents;
    drawComponents();
  };
  const more = S.areAllComponents ? "Show fewer" : `Show all ${layer.size}`;
  put($("#comps-more"), layer.size > few ? h("button", { class: "btn noprint", type: "button", testid: "components-more", on: { click: toggle } }, more) : null);
}

function chooseComponent(j) {
  S.component = S.component === j ? -1 : j;
  S.selection.clear();
  drawLayer(false);
}

const drawnComponent = (layer, j) =>
  h(
    "button",
    {
      type: "button", "aria-pressed": String(S.component === j), testid: `component-${j}`,
      "aria-label": `component ${j + 1}, ${fineShare(layer.use[j])} of the layer`, on: { click: () => chooseComponent(j) },
    },
    componentPicture(layer, j, R.display.kind === "line" ? null : 64),
    h("div", { class: "u" }, h("span", { style: { width: `${(100 * layer.use[j]) / (layer.use[layer.order[0]] || 1)}%` } })),
  );

const listedComponent = (layer, j) =>
  h(
    "div",
    {},
    h(
      "button",
      { class: "t", type: "button", "aria-pressed": String(S.component === j), testid: `component-${j}`, on: { click: () => chooseComponent(j) } },
      String(j + 1),
      h("span", { class: "small quiet" }, `  ${share(layer.use[j])} of the layer`),
    ),
    bars(topFeatures(layer, j, 7)),
  );

function signedScale() {
  const values = Float32Array.from({ length: 64 }, (_, x) => x / 31.5 - 1);
  const canvas = paintSigned(h("canvas", { class: "strip-scale" }), values, { width: 64, height: 1 }, 1);
  return canvas;
}
