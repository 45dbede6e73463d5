/* Keys of the page. */
function listenToKeys() {
  const help = $("#help");
  $("#keys").addEventListener("click", () => help.showModal());
  $("#help-close").addEventListener("click", () => help.close());
  addEventListener("keydown", (event) => {
    if (event.target.matches("input,select,textarea") || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const act = ACTIONS[event.key] || (/^[1-9]$/.test(event.key) && R.layers[event.key - 1] ? () => chooseLayer(event.key - 1) : null);
    if (!act) return;
    if (event.key === "/") event.preventDefault();
    act();
    if (event.target !== map.canvas) showTip();
  });
}

const ACTIONS = {
  j: () => choose(S.sample + 1),
  k: () => choose(S.sample - 1),
  c: nextColour,
  d: () => {
    if (!isImage()) return;
    S.isPictures = !S.isPictures;
    drawLayer(false);
  },
  t: toggleTheme,
  m: () => {
    $("#layer").scrollIntoView();
    map.canvas.focus({ preventScroll: true });
  },
  "/": () => $("#find").focus(),
  "?": () => $("#help").showModal(),
  Escape: () => {
    S.pinned.clear();
    S.selection.clear();
    S.component = -1;
    showTip();
    drawLayer(false);
  },
};

function nextColour() {
  const values = [...R.attributes.keys()].map(String).concat("cluster");
  S.colour = values[(values.indexOf(S.colour) + 1) % values.length];
  S.component = -1;
  S.pinned.clear();
  drawLayer(false);
}
