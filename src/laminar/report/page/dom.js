/* Elements from data. Names are text nodes and never markup: there is no innerHTML on the page. */
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const SVG = new Set(["svg", "path", "rect", "circle", "line", "text", "g", "title", "polyline"]);

/* h("button", { class: "btn", testid: "go", on: { click } }, "Go"); null and false are left out, of children too. */
function h(tag, properties, ...children) {
  const element = SVG.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "style") setStyle(element, value);
    else if (name === "testid") element.dataset.testid = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) {
    if (value !== null && value !== undefined) element.style.setProperty(name, value);
  }
}

const present = (children) => children.flat(9).filter((child) => child !== null && child !== undefined && child !== false);

/* Replace what an element holds. */
function put(where, ...children) {
  where.replaceChildren(...present(children));
  return where;
}

const glyph = (path) =>
  h(
    "svg",
    {
      width: 20, height: 20, viewBox: "0 0 20 20", fill: "none", stroke: "currentColor",
      "stroke-width": 1.5, "stroke-linecap": "round", "aria-hidden": "true",
    },
    h("path", { d: path }),
  );

const isCalm = () => matchMedia("(prefers-reduced-motion:reduce)").matches;
const scrollToTop = (element) => element.scrollIntoView({ behavior: isCalm() ? "auto" : "smooth" });
