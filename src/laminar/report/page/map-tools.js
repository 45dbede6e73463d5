/* Buttons of a map: lasso by touch, zoom. */
const LASSO =
  "M3 7c0-2.6 3.2-4 7-4s7 1.4 7 4-3.2 4-7 4c-1.6 0-3-.3-4.2-.7" +
  "M6 10c-1.5 0-2.5 1-2.5 2.2S4.8 14.5 6 14.5 8 13.5 8 12.5 7.3 10 6 10zM5.8 14.5c0 1.5-.6 2.5-1.8 3";

function mapTools(map) {
  const tool = (label, path, click, properties = {}) =>
    h("button", { class: "icon", type: "button", "aria-label": label, title: label, ...properties, on: { click } }, glyph(path));
  const toggle = (event) => {
    map.isTouchLasso = !map.isTouchLasso;
    event.currentTarget.setAttribute("aria-pressed", String(map.isTouchLasso));
    map.canvas.parentElement.classList.toggle("lasso", map.isTouchLasso);
  };
  return h(
    "div",
    { class: "end" },
    tool("Lasso by touch", LASSO, toggle, { "aria-pressed": String(map.isTouchLasso), testid: "map-lasso" }),
    tool("Zoom in", "M10 4v12M4 10h12", () => map.zoom(1.5), { testid: "map-zoom-in" }),
    tool("Zoom out", "M4 10h12", () => map.zoom(1 / 1.5)),
    tool("Show all", "M4 8V4h4M16 8V4h-4M4 12v4h4M16 12v4h-4", () => map.fit()),
  );
}
