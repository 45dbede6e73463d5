/* Numbers and counts as text; a number and its % are never on two lines. */
const share = (value) => (value === null || value === undefined ? "–" : `${Math.round(100 * value)}\u00a0%`);

/* One digit more where there is little: 0.4 %, not 0 %. */
function fineShare(value) {
  if (value === null || value === undefined) return "–";
  return `${(100 * value).toFixed(value < 0.0995 && value > 0 ? 1 : 0).replace(/\.0$/, "")}\u00a0%`;
}

const whole = (number) => number.toLocaleString("en");
const plural = (count, [one, many]) => `${whole(count)} ${count === 1 ? one : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/* Three digits, without an exponent where that is short, and with a minus that is no hyphen. */
function digits(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 0) return `−${digits(-value)}`;
  if (value >= 1e6 || (value > 0 && value < 1e-3)) return value.toExponential(1);
  return value >= 100 ? value.toFixed(0) : String(+value.toPrecision(3));
}
