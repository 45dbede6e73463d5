/* One sample built from its components: keep the strongest, or move each. */
const MOST_SLIDERS = { image: 20, line: 12, bars: 12, words: 12 };

function drawMixer() {
  const layer = thisLayer(), i = S.sample, full = codesOf(layer, i), now = full.slice();
  const strength = (j) => full[j] * layer.norms[j];
  const sorted = [...Array(layer.size).keys()].sort((a, b) => strength(b) - strength(a));
  const active = sorted.filter((j) => full[j] > 0), shown = sorted.slice(0, MOST_SLIDERS[R.display.kind]);
  const stage = mixerStage(layer, i, active.length, full), sliders = new Map();
  const show = (j) => {
    const { input, output, most } = sliders.get(j);
    input.value = Math.round((1000 * now[j]) / most);
    input.style.setProperty("--v", input.value / 10);
    input.setAttribute("aria-valuetext", digits(now[j]));
    output.textContent = digits(now[j]);
  };
  const row = (j) => {
    const most = Math.max(full[j] * 1.6, layer.largest_codes[j] * 0.35) || 1;
    const move = (event) => {
      now[j] = (event.target.value / 1000) * most;
      show(j);
      stage.draw(now);
    };
    const input = h("input", { type: "range", min: 0, max: 1000, "aria-label": `${componentName(layer, j)} (${j + 1})`, testid: `code-${j}`, on: { input: move } });
    const output = h("span", { class: "num quiet" });
    sliders.set(j, { input, output, most });
    if (!isImage() || !layer.components) return h("div", { class: "r" }, h("span", {}, componentName(layer, j, 3)), input, output);
    return h("div", { class: "tile" }, componentPicture(layer, j, 70), input, h("div", { class: "v" }, h("span", {}, String(j + 1)), output));
  };
  const rows = h("div", { class: isImage() && layer.components ? "tiles" : "rows" }, shown.map(row));
  put($("#mixer-title"), `Built from ${layerName(layer)}`);
  $("#mixer").classList.toggle("wide", !isImage());
  put(
    $("#mixer"),
    h("div", { class: "live" }, stage.element, stage.says),
    h(
      "div",
      {},
      keepStrongest(active, (kept) => {
        now.fill(0);
        for (const j of kept) now[j] = full[j];
        for (const j of sliders.keys()) show(j);
        stage.draw(now);
      }),
      rows,
      active.length > shown.length ? h("p", { class: "small quiet" }, `The ${shown.length} strongest of ${active.length} in use, each with a slider.`) : null,
    ),
  );
  for (const j of sliders.keys()) show(j);
  stage.draw(now);
}

function keepStrongest(active, onKeep) {
  const count = h("output", {}, String(active.length));
  const move = (event) => {
    const n = +event.target.value;
    event.target.style.setProperty("--v", (100 * n) / (active.length || 1));
    count.textContent = String(n);
    onKeep(active.slice(0, n));
  };
  const input = h("input", {
    type: "range", min: 0, max: active.length, value: active.length, id: "keep", testid: "keep-slider",
    style: { "--v": 100 }, on: { input: move },
  });
  return h(
    "div",
    { class: "row keep" },
    h("label", { class: "lab", for: "keep" }, h("span", { class: "nowrap" }, "Keep the strongest"), input, count),
    h("button", { class: "linklike", type: "button", testid: "mixer-reset", on: { click: drawMixer } }, "reset"),
  );
}

/* Where the mixture is drawn: { element, says, draw(codes) }. */
function mixerStage(layer, i, n, full) {
  const says = h("p", { class: "small", "aria-live": "polite", testid: "live-says" });
  if (!canReconstruct(layer)) return wordStage(layer, says);
  const whole = explainedText(explainedOf(i, reconstruct(layer, full)));
  const at = R.display.step > 1 ? ` At ${R.display.width} × ${R.display.height} pixels.` : "";
  const tell = (out, more = "") =>
    put(
      says,
      h("b", {}, `${explainedText(explainedOf(i, out))} explained`),
      ` of this ${R.noun[0]}; ${whole} with all ${n} of its components, 0 % by the mean ${R.noun[0]}.${at}${more}`,
    );
  const drawers = { image: imageStage, line: lineStage, bars: columnStage };
  const { element, draw, more } = drawers[R.display.kind](layer, i);
  return {
    element, says,
    draw: (codes) => {
      const out = reconstruct(layer, codes);
      draw(out);
      tell(out, more);
    },
  };
}

function imageStage() {
  const element = h("canvas", { role: "img", "aria-label": "reconstruction from the components kept", testid: "live-reconstruction" });
  return { element, draw: (out) => paintPicture(element, out, R.display) };
}

function lineStage(layer, i) {
  const element = h("div", { testid: "live-reconstruction" }), row = sampleRow(i);
  const draw = (out) => put(element, curve([{ values: row, class: "curve faint" }, { values: out }], { width: 340, height: 180, axis: false, label: "sample in grey, reconstruction" }));
  return { element, draw, more: ` Grey: the ${R.noun[0]}. Line: its reconstruction.` };
}

/* A row of a table: a line where each value is, from the lowest to the highest of all rows, and a dot for each column. */
function columnStage(layer, i) {
  const element = h("div", { class: "bars", testid: "live-reconstruction" }), row = sampleRow(i), { low, span, names } = R.display;
  const at = (value) => `${100 * Math.max(0, Math.min(1, value))}%`;
  const draw = (out) =>
    put(
      element,
      names.map((name, j) =>
        h(
          "div",
          { class: "b column" },
          h("span", { title: name }, name),
          h("div", { class: "track axis-line" }, h("span", { class: "dot", title: "reconstruction", style: { left: at(out[j]) } }), h("i", { title: "value", style: { left: at(row[j]) } })),
          h("span", { class: "v" }, digits(low[j] + row[j] * span[j])),
        ),
      ),
    );
  return { element, draw, more: " Line: the value, from the lowest to the highest of all. Dot: its reconstruction." };
}

/* Features that the kept components hold, the largest first. */
function wordStage(layer, says) {
  const element = h("div", { testid: "live-reconstruction" });
  const draw = (codes) => {
    const sums = new Map();
    if (layer.top) {
      for (let j = 0; j < layer.size; j++) {
        if (codes[j]) for (const [name, weight] of topFeatures(layer, j, 12)) sums.set(name, (sums.get(name) || 0) + codes[j] * weight);
      }
    }
    const rows = [...sums].sort((x, y) => Math.abs(y[1]) - Math.abs(x[1])).slice(0, 12);
    put(element, rows.length ? bars(rows) : h("p", { class: "small quiet" }, "nothing kept"));
    put(says, "What these components add up to, the strongest of their features first.");
  };
  return { element, says, draw };
}
