/* One sample: reconstruction layer by layer, codes, neighbours. */
function drawSample() {
  drawSampleBar();
  put($("#sample-title"), `${capital(R.noun[0])} `, h("span", { class: "idn" }, R.ids[S.sample]));
  put($("#recons"), original(), R.layers.map((layer, l) => oneReconstruction(layer, l)));
  $("#mixer-part").hidden = !thisLayer().size;
  drawMixer();
  drawNeighbours();
}

function drawSampleBar() {
  const find = (event) => {
    const i = R.ids.indexOf(event.target.value);
    if (i >= 0) choose(i);
  };
  const step = (label, text, by, testid) => h("button", { class: "btn", type: "button", "aria-label": label, testid, on: { click: () => choose(S.sample + by) } }, text);
  if ($("#find")) return; // it holds what is typed
  put(
    $("#sample-bar"),
    step("previous", "←", -1, "sample-prev"),
    step("next", "→", 1, "sample-next"),
    h("input", { type: "search", list: "ids", placeholder: `find one of ${whole(R.n_shown)}`, "aria-label": "find a sample by its name", id: "find", testid: "sample-find", on: { change: find } }),
    h("datalist", { id: "ids" }, R.ids.map((value) => h("option", { value }))),
  );
}

function original() {
  const i = S.sample;
  const drawn = isImage() ? thumb(sprite, i, null, { class: "thumb pic", "aria-label": describe(i) }, "span") : picture(i, 176);
  const words = R.samples.top ? bars(topOfSample(i, 8)) : null;
  const text = R.samples.texts ? markedText(i) : null;
  return h("div", { class: text ? "recon plain whole" : "recon plain" }, drawn, text, words, h("span", { class: "t" }, "Original"), facts(i));
}

/* A text in which the words with the largest weights are marked. */
function markedText(i) {
  const words = new Set(R.samples.top ? topOfSample(i, 12).map(([name]) => name) : []);
  const parts = R.samples.texts[i].split(/([\p{L}\p{N}]+)/u);
  return h("p", { class: "doc" }, parts.map((part) => (words.has(part.toLowerCase()) ? h("mark", {}, part) : part)));
}

function oneReconstruction(layer, l) {
  const codes = codesOf(layer, S.sample), used = `${[...codes].filter((code) => code > 0).length} of ${layer.size} in use`;
  let drawn = null, says = used;
  if (canReconstruct(layer)) {
    const out = reconstruct(layer, codes);
    says = `${explainedText(explainedOf(S.sample, out))} explained, ${used}`;
    if (isImage()) drawn = paintPicture(h("canvas", { class: "pic" }), out, R.display);
    if (R.display.kind === "line") {
      const lines = [{ values: sampleRow(S.sample), class: "curve faint" }, { values: out }];
      drawn = curve(lines, { width: 176, height: 100, axis: false, label: `reconstruction by ${layer.name}` });
    }
  }
  return h(
    "button",
    { class: "recon", type: "button", "aria-pressed": String(l === S.layer), testid: `recon-${l}`, on: { click: () => chooseLayer(l) } },
    drawn,
    h("span", { class: "t" }, layer.name),
    h("small", {}, says),
    barcode(layer, codes),
  );
}
