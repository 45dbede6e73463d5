/* Values to a canvas. Signed ones as ink on paper: blue below zero, ochre above, zero is the page. */
function paintSigned(canvas, values, { width, height, channels = 1 }, largest) {
  const zero = rgb(token("--sheet")), below = rgb(isDark() ? "#62b0e8" : "#1c5a8c");
  const above = rgb(isDark() ? "#f0a45a" : "#a8520c");
  return painted(canvas, width, height, (pixel, out, at) => {
    let value = 0;
    for (let c = 0; c < channels; c++) value += values[pixel * channels + c] / channels / largest;
    const end = value < 0 ? below : above, t = Math.min(1, Math.abs(value)) ** 0.85;
    for (let c = 0; c < 3; c++) out[at + c] = zero[c] + (end[c] - zero[c]) * t;
  });
}

/* Pictures: values between 0 and 1. */
function paintPicture(canvas, values, { width, height, channels = 1 }) {
  return painted(canvas, width, height, (pixel, out, at) => {
    for (let c = 0; c < 3; c++) out[at + c] = 255 * Math.max(0, Math.min(1, values[pixel * channels + (c % channels)]));
  });
}

function painted(canvas, width, height, colour) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    colour(pixel, image.data, 4 * pixel);
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
