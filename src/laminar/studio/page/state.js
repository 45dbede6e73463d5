/* What the page knows: the samples, the labels as the server has them, the model's view, and what is selected here. */
const studio = {
  samples: null, // { ids, noun, sprite, csv, command, folder }
  version: -1, // of the labels that are shown
  base: -1, // of these and of what was sent since; a change of other labels is refused
  revision: -1, // of the view
  attribute: null, // in view; null is a new one
  labels: [], // [{ name, values, codes }]
  view: null,
  progress: null,
  undo: null,
  redo: null,
  selected: new Set(),
  value: "", // as typed
  isProposed: false, // whether the selection came from a suggestion, so that the next one follows
};

const column = () => studio.labels.find(({ name }) => name === studio.attribute) || null;
const values = () => column()?.values || [];
const code = (i) => column()?.codes[i] ?? -1;
const isLabelled = (i) => code(i) >= 0;
const guess = (i) => studio.view?.guesses?.[i] ?? -1;
const shown = (i) => (isLabelled(i) ? code(i) : guess(i)); // the label, or else the guess
const noun = () => studio.samples.noun;
const styleOf = (c) => classStyle(c, values().length);

/* What is known of a sample, in words. */
function describe(i) {
  const name = values()[shown(i)];
  if (name === undefined) return studio.samples.ids[i];
  return `${studio.samples.ids[i]}: ${isLabelled(i) ? "labelled" : "guess"} ${name}`;
}

/* A picture of a sample as a button; its name where there are no pictures. */
function face(i, properties = {}, size = null) {
  const named = { "aria-label": describe(i), title: describe(i), ...properties };
  const { sprite, ids } = studio.samples;
  if (sprite) return thumb(sprite, i, size, named);
  return h("button", { type: "button", ...named, class: `chip text ${properties.class || ""}` }, ids[i]);
}

function select(samples, { isAdded = false, isProposed = false } = {}) {
  if (!isAdded) studio.selected.clear();
  for (const i of samples) studio.selected.add(i);
  studio.isProposed = isProposed;
  showSelection();
}

function toggle(i) {
  if (!studio.selected.delete(i)) studio.selected.add(i);
  studio.isProposed = false;
  showSelection();
}
