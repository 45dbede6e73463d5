/* The record of the page, what is shown of it, and short ways to both. */
let R; // the record, see laminar.report.record
let map, sprite = null;
const S = {
  layer: 0, sample: 0, colour: "cluster", component: -1, metric: 0, isPictures: false,
  selection: new Set(), pinned: new Set(), spot: -1, areAllClusters: false, areAllComponents: false,
};

const thisLayer = () => R.layers[S.layer];
const isImage = () => R.display.kind === "image" && sprite !== null;
const className = (attribute, code) => (code < 0 ? "unknown" : attribute.classes[code]);

/* What a layer is called in a sentence. */
const layerName = (layer) => (layer.attribute === null ? layer.name : `the ${layer.name} layer`);

const classesOf = (i) => R.attributes.map((a) => `${a.name} ${className(a, a.codes[i])}`).join(", ");
const describe = (i) => (R.attributes.length ? `${R.ids[i]}: ${classesOf(i)}` : R.ids[i]);

/* Code j of sample i. */
const codeAt = (layer, i, j) => (layer.codes[i * layer.size + j] / 255) * layer.largest_codes[j];
const codesOf = (layer, i) => Float32Array.from({ length: layer.size }, (_, j) => codeAt(layer, i, j));

const nearestIn = (layer, i) => rowOf(layer.neighbours, layer.n_neighbours, i);
const rowOf = (array, width, i) => array.subarray(i * width, (i + 1) * width);

function choose(i, { isScrolled = false } = {}) {
  S.sample = (i + R.n_shown) % R.n_shown;
  map.current = S.sample;
  map.draw();
  if (!S.selection.size) drawInspector();
  drawSample();
  remember();
  if (isScrolled) scrollToTop($("#sample"));
}

function chooseLayer(i) {
  S.layer = (i + R.layers.length) % R.layers.length;
  const own = thisLayer().attribute;
  S.colour = own !== null ? String(own) : R.attributes.length ? "0" : "cluster";
  Object.assign(S, { component: -1, areAllClusters: false, areAllComponents: false });
  S.pinned.clear();
  drawLayer();
  drawSample();
  markStack();
  remember();
}

/* Layer and sample are in the address, so that it can be passed on. */
function remember() {
  try {
    history.replaceState(null, "", `#${S.layer}/${S.sample}`);
  } catch {
    /* a page inside a notebook has no address */
  }
}

function recall() {
  const [, layer, sample] = /^#(\d+)\/(\d+)$/.exec(location.hash) || [];
  if (layer === undefined) return;
  if (+layer < R.layers.length) S.layer = +layer;
  if (+sample < R.n_shown) S.sample = +sample;
}
