/* The map: a canvas of samples, as dots or as pictures. scatter-input.js has pointer and keys, scatter-names.js names.

   new Scatter(canvas, { style, sprite, onHover(i, place), onPick(i, event), onLasso(samples, isAdded), onClear() })
   style: { of(i) -> { colour, shape }, isLit(i) or null, names, codes }: names are written beside compact classes.
   sprite: of thumb.js, for pictures. marked(), picked(): samples with a thin ring, and with a ring in the accent. */
const POINTS = 65535; // coordinates are whole numbers up to this
const NONE = { of: () => ({ colour: token("--dim"), shape: SHAPES.disc }), isLit: null, names: null, codes: null };

class Scatter {
  constructor(canvas, options) {
    Object.assign(
      this,
      { canvas, padding: 26, scale: 1, centre: [0.5, 0.5], n: 0, hover: -1, current: -1, lasso: null, style: NONE },
      { isPictures: false, isTouchLasso: false, marked: () => [], picked: () => [] },
      options,
    );
    this.context = canvas.getContext("2d");
    new ResizeObserver(() => this.draw()).observe(canvas);
    listen(this);
  }

  /* Coordinates, [x, y, x, y, ...]; the points travel there unless told not to. */
  set(coordinates, isMoving = true) {
    const target = Float32Array.from(coordinates, (value) => value / POINTS);
    cancelAnimationFrame(this.frame);
    if (!this.xy || this.xy.length !== target.length || !isMoving || isCalm()) {
      this.xy = target;
      this.n = target.length / 2;
      this.isMoving = false;
      this.draw();
      return;
    }
    const from = this.xy.slice(), start = performance.now();
    const step = (now) => {
      const t = Math.max(0, Math.min(1, (now - start) / 650));
      const eased = t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
      for (let i = 0; i < target.length; i++) this.xy[i] = from[i] + (target[i] - from[i]) * eased;
      this.isMoving = t < 1;
      this.draw();
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  fit() {
    this.scale = 1;
    this.centre = [0.5, 0.5];
    this.draw();
  }

  /* Zoom about a point of the canvas, or about its middle. */
  zoom(factor, about) {
    const scale = Math.max(1, Math.min(12, this.scale * factor));
    if (about) {
      const fixed = this.inverse(about);
      this.centre = this.centre.map((c, axis) => fixed[axis] + ((c - fixed[axis]) * this.scale) / scale);
    }
    this.scale = scale;
    if (scale === 1) this.centre = [0.5, 0.5];
    this.draw();
  }

  size() {
    return [this.canvas.clientWidth, this.canvas.clientHeight];
  }

  /* Place of sample i on the canvas. */
  place(i) {
    return this.size().map((size, axis) => {
      const span = (size - 2 * this.padding) * this.scale;
      return size / 2 + (this.xy[2 * i + axis] - this.centre[axis]) * span;
    });
  }

  places() {
    const found = new Float32Array(2 * this.n), size = this.size();
    for (let axis = 0; axis < 2; axis++) {
      const span = (size[axis] - 2 * this.padding) * this.scale;
      const start = size[axis] / 2 - this.centre[axis] * span;
      for (let i = 0; i < this.n; i++) found[2 * i + axis] = start + this.xy[2 * i + axis] * span;
    }
    return found;
  }

  inverse(point) {
    return this.size().map((size, axis) => {
      const span = (size - 2 * this.padding) * this.scale;
      return (point[axis] - size / 2) / span + this.centre[axis];
    });
  }

  nearest([x, y], radius = 14) {
    const at = this.places();
    let best = -1, distance = radius * radius;
    for (let i = 0; i < this.n; i++) {
      const d = (at[2 * i] - x) ** 2 + (at[2 * i + 1] - y) ** 2;
      if (d < distance) [best, distance] = [i, d];
    }
    return best;
  }

  /* The next sample in a direction, for the arrow keys. */
  neighbour(i, [dx, dy]) {
    if (i < 0) return 0;
    const at = this.places(), [x, y] = [at[2 * i], at[2 * i + 1]];
    let best = -1, cost = Infinity;
    for (let j = 0; j < this.n; j++) {
      const along = (at[2 * j] - x) * dx + (at[2 * j + 1] - y) * dy;
      const across = Math.abs((at[2 * j] - x) * dy - (at[2 * j + 1] - y) * dx);
      if (j !== i && along > 1 && along + 2.5 * across < cost) [best, cost] = [j, along + 2.5 * across];
    }
    return best;
  }

  inside(path) {
    const at = this.places();
    return [...Array(this.n).keys()].filter((i) => isInside(at[2 * i], at[2 * i + 1], path));
  }

  draw() {
    const { canvas, context } = this, [width, height] = this.size(), ratio = devicePixelRatio || 1;
    if (!width || !this.xy) return;
    const [w, t] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== t) [canvas.width, canvas.height] = [w, t];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.radius = (this.n > 1500 ? 3.2 : 4.6) * Math.min(1.8, Math.sqrt(this.scale));
    this.picture = this.isPictures && this.sprite ? Math.max(20, Math.min(64, 30 * Math.sqrt(this.scale))) : 0;
    const at = this.places();
    this.drawSamples(at, width, height);
    drawNames(this, at, width, height);
    this.drawRings();
    this.drawLasso();
  }

  drawSamples(at, width, height) {
    const { style, context, picture } = this, pictures = [], paper = token("--sheet"), dim = token("--dim");
    const samples = [...Array(this.n).keys()];
    if (style.isLit) samples.sort((i, j) => style.isLit(i) - style.isLit(j)); // what is lit lies on top
    if (picture && this.current >= 0) pictures.push(this.current);
    for (const i of samples) {
      const [x, y] = [at[2 * i], at[2 * i + 1]], isLit = !style.isLit || style.isLit(i);
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      if (picture && isLit && i !== this.current && !isCovered(pictures, at, x, y, picture + 3)) {
        pictures.push(i); // the others stay dots, and zooming makes room for more
        continue;
      }
      context.globalAlpha = isLit ? 0.9 : 0.55;
      drawMark(context, x, y, this.radius, isLit ? style.of(i) : { colour: dim, shape: SHAPES.disc }, paper, isLit);
    }
    context.globalAlpha = 1;
    this.pictured = new Set(pictures);
    for (const i of pictures) this.drawPicture(i, at[2 * i], at[2 * i + 1]);
  }

  drawPicture(i, x, y) {
    const { context, sprite, picture } = this, { width, height, columns } = sprite;
    const w = picture * Math.min(1, width / height), t = picture * Math.min(1, height / width);
    context.fillStyle = this.style.of(i).colour;
    context.fillRect(x - w / 2 - 2, y - t / 2 - 2, w + 4, t + 4);
    const [left, top] = [(i % columns) * width, Math.floor(i / columns) * height];
    context.drawImage(sprite.image, left, top, width, height, x - w / 2, y - t / 2, w, t);
  }

  drawRings() {
    const { picture } = this, ink = token("--ink"), paper = token("--sheet"), accent = token("--accent");
    for (const i of this.marked()) {
      if (!picture || this.pictured.has(i)) this.ring(i, ink, 1.3, 2); // none on the picture of another sample
    }
    for (const i of this.picked()) {
      this.ring(i, paper, 5, 4);
      this.ring(i, accent, 2.5, 4);
    }
    if (this.current >= 0 && this.current < this.n) {
      this.ring(this.current, paper, 5, 4.5);
      this.ring(this.current, ink, 2, 4.5);
    }
    if (this.hover >= 0) this.ring(this.hover, ink, 1.5, 3);
  }

  ring(i, colour, thickness, gap) {
    const { context, picture } = this, [x, y] = this.place(i);
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    context.beginPath();
    const half = picture / 2 + gap;
    if (this.pictured.has(i)) context.rect(x - half, y - half, 2 * half, 2 * half);
    else context.arc(x, y, this.radius + gap, 0, 7);
    context.stroke();
  }

  drawLasso() {
    const { context, lasso } = this;
    if (!lasso || lasso.length < 3) return;
    context.beginPath();
    lasso.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fillStyle = `rgb(${token("--tint")} / .12)`;
    context.fill();
    context.lineWidth = 1.4;
    context.strokeStyle = token("--accent");
    context.stroke();
  }
}

const isCovered = (samples, at, x, y, size) =>
  samples.some((i) => Math.abs(at[2 * i] - x) < size && Math.abs(at[2 * i + 1] - y) < size);

/* A ring is filled with paper: rings on top of each other would look like discs. */
function drawMark(context, x, y, radius, { colour, shape }, paper, isOutlined) {
  context.beginPath();
  if (shape === SHAPES.diamond) {
    const d = radius * 1.15;
    for (const [dx, dy] of [[0, -d], [d, 0], [0, d], [-d, 0]]) context.lineTo(x + dx, y + dy);
    context.closePath();
  } else context.arc(x, y, shape === SHAPES.ring ? radius * 0.78 : radius, 0, 7);
  context.fillStyle = shape === SHAPES.ring ? paper : colour;
  context.fill();
  if (shape !== SHAPES.ring && !isOutlined) return;
  context.lineWidth = shape === SHAPES.ring ? radius * 0.5 : 0.8;
  context.strokeStyle = shape === SHAPES.ring ? colour : paper;
  context.stroke();
}

/* Whether a point is inside a closed path: an odd number of its edges lie to the right. */
function isInside(x, y, path) {
  let isOdd = false;
  path.forEach(([xa, ya], k) => {
    const [xb, yb] = path[(k || path.length) - 1];
    if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) isOdd = !isOdd;
  });
  return isOdd;
}
