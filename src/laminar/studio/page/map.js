/* The map of the layer in view: colour is the label or the model's guess, a ring is a label that was given. */
let map = null, drawnMap = "";

function makeMap() {
  map = new Scatter($("#map"), {
    sprite: studio.samples.sprite,
    picked: () => studio.selected,
    marked: () => (column() ? [...Array(studio.samples.ids.length).keys()].filter(isLabelled) : []),
    onHover: showCard,
    onPick: toggle,
    onLasso: (samples, isAdded) => select(samples, { isAdded }),
  });
  const draw = seg("Draw as", [["dots", "Dots"], ["pictures", "Pictures"]], "dots", drawAs, "map-draw");
  const tools = mapTools(map);
  if (studio.samples.sprite) tools.prepend(draw);
  $("#map-tools").replaceWith(tools);
  tools.id = "map-tools";
}

function drawAs(kind) {
  map.isPictures = kind === "pictures";
  for (const button of $$("[data-testid=map-draw] button")) {
    button.setAttribute("aria-pressed", String(button.dataset.value === kind));
  }
  map.draw();
}

function showCard(i, place) {
  if (i < 0 || !place) return showTip();
  const { sprite, ids } = studio.samples, name = values()[shown(i)], sure = studio.view.sure?.[i];
  const what = isLabelled(i) ? "labelled " : "guess ";
  showTip(
    place,
    sprite ? thumb(sprite, i, 84, {}, "span") : null,
    h(
      "div",
      {},
      h("div", { class: "idn" }, ids[i]),
      name === undefined ? h("div", { class: "quiet" }, "no label") : h("div", {}, what, h("b", {}, name)),
      sure === undefined || isLabelled(i) ? null : h("div", { class: "quiet" }, `probability ${share(sure)}`),
    ),
  );
}

function styleMap() {
  const codes = Array.from(studio.samples.ids, (_, i) => shown(i));
  const styles = values().map((_, c) => styleOf(c)), none = NONE.of();
  map.style = { of: (i) => styles[codes[i]] || none, isLit: null, names: values(), codes };
}

function showMap(isMoving) {
  const { view } = studio;
  styleMap();
  const isMoved = view?.map && view.map.join() !== drawnMap;
  if (isMoved) map.set(Uint16Array.from(view.map), isMoving);
  else map.draw(); // its names would be hidden while nothing moves
  if (isMoved) drawnMap = view.map.join();
  const isWaiting = !view?.map;
  put($("#waiting"), isWaiting ? "The first map is being made. Suggestions below can be labelled already." : "");
  const legend = "Colour is the model's guess, a ring is a label. Points move when the model is refitted.";
  const alike = studio.labels.length ? "in what the labels so far do not show" : "to a model without labels";
  const first = `Every point is one of the ${noun()[1]}; near ones are alike ${alike}.`;
  put($("#map-says"), isWaiting ? "" : view.guesses ? legend : first);
  const count = plural(studio.samples.ids.length, noun());
  $("#map").setAttribute("aria-label", `Map of ${count}: arrows, Enter, Space to add`);
}
