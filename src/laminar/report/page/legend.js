/* Classes with their colours: hover to see one alone, click to keep it.
   classes: [{ name, count, style }]; pinned: Set of positions; onSpot(position or -1); onPin(position). */
const LEGEND_LENGTH = 40;

function legend(classes, pinned, { onSpot, onPin, noun }) {
  const buttons = classes.slice(0, LEGEND_LENGTH).map(({ name, count, style }, i) =>
    h(
      "button",
      {
        type: "button", "aria-pressed": String(pinned.has(i)), title: plural(count, noun), testid: `legend-${i}`,
        on: { pointerenter: () => onSpot(i), pointerleave: () => onSpot(-1), click: () => onPin(i) },
      },
      swatch(style),
      name,
    ),
  );
  const rest = classes.length - LEGEND_LENGTH;
  return rest > 0 ? [...buttons, h("span", { class: "small quiet" }, `and ${rest} more`)] : buttons;
}

/* The scale of a code from zero to its largest value. */
function codeScale(largest, name) {
  const canvas = h("canvas", { width: 120, height: 8 }), context = canvas.getContext("2d");
  for (let x = 0; x < 120; x++) {
    context.fillStyle = amount(x / 120);
    context.fillRect(x, 0, 1, 8);
  }
  return h("span", { class: "scale" }, "code 0", canvas, `${digits(largest)} · ${name}`);
}
