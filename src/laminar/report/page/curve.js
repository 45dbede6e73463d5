/* Lines over positions, as spectra and objectives are: lines: [{ values, class }], all of one length. */
function curve(lines, { width = 520, height = 150, label, from, to, title, axis = true }) {
  const left = axis ? 56 : 4, top = axis ? 12 : 4, right = width - (axis ? 12 : 4), bottom = height - (axis ? 30 : 4);
  let low = Infinity, high = -Infinity;
  for (const { values } of lines) {
    for (const value of values) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const n = lines[0].values.length;
  const x = (i) => left + ((right - left) * i) / Math.max(1, n - 1);
  const y = (value) => bottom - ((bottom - top) * (value - low)) / (high - low || 1);
  const box = h("svg", {
    viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": label,
    preserveAspectRatio: axis ? null : "none",
  });
  for (const value of axis ? [low, high] : []) {
    box.append(
      h("line", { class: "gridl", x1: left, x2: right, y1: y(value), y2: y(value) }),
      h("text", { class: "axis", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, digits(value)),
    );
  }
  if (!axis && low < 0 && high > 0) box.append(h("line", { class: "gridl", x1: left, x2: right, y1: y(0), y2: y(0) }));
  if (axis) {
    box.append(
      h("text", { class: "axis", x: left, y: height - 6 }, from),
      h("text", { class: "axis", x: right, y: height - 6, "text-anchor": "end" }, to),
      h("text", { class: "axis", x: right, y: top + 14, "text-anchor": "end" }, title || ""),
    );
  }
  for (const { values, class: name = "curve" } of lines) {
    const points = Array.from(values, (value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    box.append(h("polyline", { class: name, points, "vector-effect": "non-scaling-stroke" }));
  }
  return box;
}
