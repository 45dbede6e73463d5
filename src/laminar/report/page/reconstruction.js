/* Reconstructions in the units of the page: offset + codes times components, between 0 and 1. */
const limitOf = (array) => (array instanceof Uint16Array ? 65535 : 255);

/* Sample i, between 0 and 1. */
function sampleRow(i) {
  const { values } = R.samples, width = values.length / R.n_shown, limit = limitOf(values);
  return Float32Array.from(rowOf(values, width, i), (value) => value / limit);
}

function reconstruct(layer, codes) {
  const out = Float32Array.from(layer.offset), width = out.length;
  for (let j = 0; j < layer.size; j++) {
    const weight = (codes[j] * layer.largest[j]) / 127;
    if (!weight) continue;
    for (let p = 0, start = j * width; p < width; p++) out[p] += weight * layer.components[start + p];
  }
  return out;
}

let meanRow = null;

function mean() {
  if (meanRow) return meanRow;
  meanRow = new Float32Array(R.samples.values.length / R.n_shown);
  for (let i = 0; i < R.n_shown; i++) sampleRow(i).forEach((value, p) => (meanRow[p] += value / R.n_shown));
  return meanRow;
}

/* Share of the variance of sample i about the mean sample that a reconstruction explains; it may be negative. */
function explainedOf(i, out) {
  const centre = mean(), row = sampleRow(i);
  let error = 0, total = 0;
  row.forEach((value, p) => {
    error += (value - out[p]) ** 2;
    total += (value - centre[p]) ** 2;
  });
  return total ? 1 - error / total : 0;
}

const explainedText = (value) => (value < -0.99 ? "less than −99 %" : share(value).replace("-", "−"));

const canReconstruct = (layer) => layer.is_linear && Boolean(layer.components) && Boolean(R.samples.values);

/* The code of a sample: a bar for each component, the most used first. */
function barcode(layer, codes) {
  const size = (j) => codes[j] * layer.norms[j], largest = Math.max(...codes.map((_, j) => size(j))) || 1;
  const used = [...codes].filter((code) => code > 0).length;
  const box = h("svg", {
    class: "barcode", viewBox: `0 0 ${layer.size} 26`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${used} of ${layer.size} components in use`,
  });
  layer.order.forEach((j, x) => {
    const height = (26 * size(j)) / largest;
    if (height > 0.1) box.append(h("rect", { x: x + 0.1, y: 26 - height, width: 0.8, height, fill: "var(--accent)" }));
  });
  return box;
}
