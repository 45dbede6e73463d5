/* The panel: what is selected, and the value that it is given. */
const MOST_SHOWN = 40;

function showSelection() {
  const { selected, samples } = studio, chosen = [...selected];
  put($("#sel-title"), chosen.length ? `${plural(chosen.length, noun())} selected` : "Nothing selected");
  $("#clear").hidden = !chosen.length;
  put($("#sel"), chosen.length === 1 ? showOne(chosen[0]) : chosen.length ? showMany(chosen) : hint());
  for (const element of $$("[data-sample]")) {
    element.setAttribute("aria-pressed", String(selected.has(+element.dataset.sample)));
  }
  const isLabel = chosen.some(isLabelled);
  $("#forget").hidden = !isLabel;
  put($("#forget"), isLabel ? `remove the label of ${plural(chosen.filter(isLabelled).length, noun())}` : "");
  put($("#go"), chosen.length ? `Label ${whole(chosen.length)}` : "Label");
  $("#go").disabled = !chosen.length || isSending;
  map?.draw();
  if (samples) $("#announce").textContent = chosen.length === 1 ? describe(chosen[0]) : $("#sel-title").textContent;
}

const hint = () =>
  h(
    "p",
    { class: "small" },
    `Click ${noun()[1]}, drag around them on the map, or take a whole group. `,
    h("kbd", {}, "n"),
    " takes the next suggestion.",
  );

function showOne(i) {
  const name = values()[shown(i)], second = values()[studio.view?.second?.[i]], sure = studio.view?.sure?.[i];
  const facts = [];
  if (name !== undefined && isLabelled(i)) facts.push(h("dt", {}, "label"), h("dd", {}, name));
  else if (name !== undefined) {
    const probability = sure === undefined ? null : h("i", {}, ` ${share(sure)}`);
    facts.push(h("dt", {}, "guess"), h("dd", {}, name, probability));
    if (second !== undefined && second !== name) facts.push(h("dt", {}, "or"), h("dd", {}, second));
  }
  const picture = studio.samples.sprite ? face(i, { on: { click: () => toggle(i) } }, 132) : null;
  const words = h("div", {}, h("div", { class: "idn" }, studio.samples.ids[i]), h("dl", { class: "facts" }, facts));
  return [h("div", { class: "one" }, picture, words), showFeatures(i)];
}

/* The values of a sample that is no image, or the names of its largest features. */
function showFeatures(i) {
  const { features } = studio.samples;
  if (!features) return null;
  const { names, values: numbers, largest, n_largest: k } = features;
  if (!numbers) {
    const words = Array.from(largest.subarray(i * k, (i + 1) * k), (j) => names[j]).filter((name) => name);
    return h("p", { class: "small words" }, words.join(", "));
  }
  const row = numbers.subarray(i * names.length, (i + 1) * names.length);
  return h("dl", { class: "facts features" }, names.map((name, j) => [h("dt", {}, name), h("dd", {}, digits(row[j]))]));
}

function showMany(chosen) {
  const more = chosen.length - MOST_SHOWN;
  return [
    h(
      "div",
      { class: studio.samples.sprite ? "thumbs eight" : "chips" },
      chosen.slice(0, MOST_SHOWN).map((i) => face(i, { on: { click: () => toggle(i) } })),
    ),
    more > 0 ? h("p", { class: "small quiet" }, `and ${whole(more)} more`) : null,
  ];
}

/* The values of the attribute, with the number of labels of each. */
function showValues() {
  const counts = values().map(() => 0);
  for (const c of column()?.codes || []) if (c >= 0) counts[c]++;
  const typed = studio.value.trim();
  put(
    $("#values"),
    values().map((name, c) =>
      h(
        "button",
        {
          type: "button", "aria-pressed": String(name === typed), testid: `value-${c}`, title: name,
          on: { click: () => chooseValue(c) },
        },
        c < 9 ? h("kbd", {}, c + 1) : h("span"),
        swatch(styleOf(c)),
        h("span", { class: "name" }, name),
        h("span", { class: "n" }, counts[c]),
      ),
    ),
  );
}

function chooseValue(c) {
  if (values()[c] === undefined) return;
  studio.value = $("#value").value = values()[c];
  showValues();
}

/* The attributes: which one is in view, and labelled. */
function showAttributes() {
  const pick = (name) => () => viewAttribute(name);
  const isNew = studio.attribute === null;
  put(
    $("#attributes"),
    studio.labels.map(({ name }, k) =>
      h(
        "button",
        {
          class: "chip", type: "button", "aria-pressed": String(name === studio.attribute), testid: `attribute-${k}`,
          title: name, on: { click: pick(name) },
        },
        name,
      ),
    ),
    h(
      "button",
      {
        class: "chip new", type: "button", "aria-pressed": String(isNew), testid: "attribute-new",
        on: { click: pick(null) },
      },
      "new attribute",
    ),
  );
  $("#new-attribute").hidden = !isNew;
}
