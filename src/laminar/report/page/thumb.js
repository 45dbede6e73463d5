/* Thumbnails: all images of the page in one sprite, a cell each. */

/* images: { pixels: Uint8Array (n, height, width, channels), n, width, height, channels }. */
async function makeSprite({ pixels, n, width, height, channels }) {
  const columns = Math.max(1, Math.ceil(Math.sqrt((n * height) / width))), rows = Math.ceil(n / columns);
  const line = width * channels, sheet = new Uint8Array(columns * rows * height * line);
  for (let i = 0; i < n; i++) {
    const left = (i % columns) * line, top = Math.floor(i / columns) * height;
    for (let y = 0; y < height; y++) {
      const from = (i * height + y) * line;
      sheet.set(pixels.subarray(from, from + line), (top + y) * columns * line + left);
    }
  }
  const url = URL.createObjectURL(await png(sheet, columns * width, rows * height, channels));
  const image = new Image();
  image.src = url;
  await image.decode();
  document.documentElement.style.setProperty("--cell", `${width} / ${height}`);
  return { image, url, columns, rows, width, height };
}

/* The picture of sample i as a button, or as a "span". Without size it fills its cell. */
function thumb(sprite, i, size, properties = {}, tag = "button") {
  const { style, ...others } = properties, { columns, rows, url } = sprite;
  const at = (index, count) => (count > 1 ? `${(index / (count - 1)) * 100}%` : "0%");
  return h(tag, {
    class: "thumb",
    type: tag === "button" ? "button" : null,
    role: tag === "span" ? "img" : null,
    ...others,
    style: {
      width: size ? `${size}px` : null,
      "background-image": `url(${url})`,
      "background-size": `${columns * 100}% ${rows * 100}%`,
      "background-position": `${at(i % columns, columns)} ${at(Math.floor(i / columns), rows)}`,
      ...style,
    },
  });
}
