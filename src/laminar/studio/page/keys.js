/* Keys, where no field is being typed in. */
const KEYS = {
  n: takeNext,
  z: undo,
  y: redo,
  Z: redo,
  a: nextAttribute,
  m: () => $("#map").focus(),
  d: () => studio.samples.sprite && drawAs(map.isPictures ? "dots" : "pictures"),
  "/": () => $("#value").select(),
  t: toggleTheme,
  "?": () => $("#help").showModal(),
  Delete: () => forget(),
  Backspace: () => forget(),
  Escape: () => select([]),
};

const forget = () => [...studio.selected].some(isLabelled) && giveLabel(null);

function nextAttribute() {
  const names = studio.labels.map(({ name }) => name);
  if (names.length) viewAttribute(names[(names.indexOf(studio.attribute) + 1) % names.length]);
}

function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("#help").open) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Enter" && !event.target.matches("button, a, canvas")) giveLabel(studio.value.trim());
    else if (/^[1-9]$/.test(event.key)) chooseValue(+event.key - 1);
    else if (KEYS[event.key] && !(event.target.matches("canvas") && event.key === "0")) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
}
