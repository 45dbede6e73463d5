/* A choice of few: options are [value, text]. */
function seg(label, options, chosen, onPick, testid) {
  const box = h("div", { class: "seg", role: "group", "aria-label": label, testid });
  for (const [value, text] of options) {
    const pick = () => {
      for (const button of box.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
      onPick(value);
    };
    box.append(
      h("button", { type: "button", "aria-pressed": String(value === chosen), "data-value": value, on: { click: pick } }, text),
    );
  }
  return box;
}
