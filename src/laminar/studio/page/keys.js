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

/* Enter labels from the page, and from a sample or a value that was just clicked; other buttons keep it. */
function isForLabel(target) {
  if (!target.matches("button, a, canvas, summary")) return true;
  return target.matches(".thumb, .chip.text, .values button") && studio.selected.size > 0 && studio.value.trim() !== "";
}

function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("#help").open) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Enter" && isForLabel(event.target)) giveLabel(studio.value.trim());
    else if (/^[1-9]$/.test(event.key)) chooseValue(+event.key - 1);
    else if (KEYS[event.key] && !(event.target.matches("canvas") && event.key === "0")) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
}
