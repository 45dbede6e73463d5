/* Names of compact classes on the map, so that colour is never the only sign. */
const MOST_NAMES = 30;

const middle = (values) => values.slice().sort((a, b) => a - b)[values.length >> 1];

function drawNames(map, at, width, height) {
  const { names, codes } = map.style;
  if (map.isMoving || !names || names.length > MOST_NAMES) return;
  const { context } = map, taken = [];
  context.font = `500 12px ${token("--sans")}`;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const members = names.map(() => []);
  for (let i = 0; i < map.n; i++) if (codes[i] >= 0) members[codes[i]].push(i);
  names.forEach((name, c) => {
    const box = compactBox(members[c], at, 0.11 * width * map.scale);
    if (!box || box.x < 0 || box.y < 0 || box.x > width || box.y > height) return;
    const place = freePlace(map, at, box, context.measureText(name).width, taken, width, height);
    if (!place) return;
    taken.push(place.box);
    context.lineWidth = 4;
    context.strokeStyle = token("--sheet");
    context.strokeText(name, place.x, place.y);
    context.fillStyle = token("--ink2");
    context.fillText(name, place.x, place.y);
  });
}

/* Centre and extent of a class whose median distance from its centre is below a radius. */
function compactBox(samples, at, largest) {
  if (!samples.length) return null;
  const x = middle(samples.map((i) => at[2 * i])), y = middle(samples.map((i) => at[2 * i + 1]));
  const distance = samples.map((i) => Math.hypot(at[2 * i] - x, at[2 * i + 1] - y)), radius = middle(distance);
  if (radius > largest) return null;
  const near = samples.filter((_, k) => distance[k] < 2.2 * radius + 8);
  const xs = near.map((i) => at[2 * i]), ys = near.map((i) => at[2 * i + 1]);
  return { x, y, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

/* The place above, below, right or left of a class that covers the fewest samples, and no other name. */
function freePlace(map, at, { x, y, left, right, top, bottom }, length, taken, width, height) {
  const half = map.picture / 2;
  const places = [
    [x - length / 2, top - 15 - half], [x - length / 2, bottom + 15 + half],
    [right + 10 + half, y], [left - length - 10 - half, y],
  ];
  let best = null;
  for (const [px, py] of places) {
    const px1 = Math.max(6, Math.min(width - length - 6, px)), py1 = Math.max(10, Math.min(height - 10, py));
    const box = [px1 - 3, py1 - 8, px1 + length + 3, py1 + 8];
    if (taken.some((o) => box[0] < o[2] && box[2] > o[0] && box[1] < o[3] && box[3] > o[1])) continue;
    let covered = 0;
    for (let i = 0; i < map.n; i++) {
      const [u, v] = [at[2 * i], at[2 * i + 1]];
      const isWithin = u > box[0] - 4 - half && u < box[2] + 4 + half && v > box[1] - 3 - half && v < box[3] + 3 + half;
      covered += isWithin ? 1 : 0;
    }
    if (covered < 4 && (!best || covered < best.covered)) best = { covered, x: px1, y: py1, box };
  }
  return best;
}
