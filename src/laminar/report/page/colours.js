/* Seven hues, apart under simulated colour deficiency, times three shapes; viridis for what is ordered. */
const HUES = {
  light: ["#372bab", "#8f901b", "#c0739f", "#338b65", "#801244", "#797ff7", "#614e0d"],
  dark: ["#4d92ff", "#f0d82b", "#e4917b", "#2fe0c0", "#d53589", "#d1bbff", "#7f9a2e"],
};
const VIRIDIS = [
  "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
];
const SHAPES = { disc: 0, ring: 1, diamond: 2 };

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rgb = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

function mixed(from, to, t) {
  const end = rgb(to);
  const parts = rgb(from).map((value, i) => Math.round(value + (end[i] - value) * t));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/* The ends of viridis that keep a contrast with the paper. */
function ordered(t) {
  const [low, high] = isDark() ? [0.33, 1] : [0, 0.68];
  const at = 9 * (low + t * (high - low)), i = Math.min(8, Math.floor(at));
  return mixed(VIRIDIS[i], VIRIDIS[i + 1], at - i);
}

/* Colour and shape of class i of n. */
function classStyle(i, n, isOrdered) {
  if (i < 0) return { colour: token("--dim"), shape: SHAPES.disc };
  if (isOrdered && n > 2) return { colour: ordered(i / (n - 1)), shape: SHAPES.disc };
  return { colour: HUES[isDark() ? "dark" : "light"][i % 7], shape: Math.floor(i / 7) % 3 };
}

function swatch({ colour, shape }) {
  const box = h("svg", { width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true" });
  if (shape === SHAPES.diamond) {
    box.append(h("rect", { x: 2, y: 2, width: 8, height: 8, fill: colour, transform: "rotate(45 6 6)" }));
  } else {
    const isRing = shape === SHAPES.ring;
    box.append(
      h("circle", {
        cx: 6, cy: 6, r: isRing ? 3.6 : 5,
        fill: isRing ? "none" : colour, stroke: colour, "stroke-width": isRing ? 2.4 : 0,
      }),
    );
  }
  return box;
}

/* The colour of a code between 0 and its largest value. */
const amount = (t) => mixed(token("--dim"), token("--accent"), Math.sqrt(t));

/* The tint of a score: stronger the further above chance. */
const tint = (value, chance) => {
  const above = value === null ? 0 : Math.max(0, (value - chance) / (1 - chance || 1));
  return `rgb(var(--tint) / ${(0.04 + 0.5 * above).toFixed(3)})`;
};
