/* A cluster: its name, its pictures (or any other content), its purity beside that of random clusters of its size.
   cluster: { name, count, purity, chance }; content: element. */
function clusterCard({ name, count, purity, chance, title, testid }, content, noun, action) {
  const meterRow = purity === null ? null : h(
    "footer",
    { title },
    meter(purity, chance),
    h("span", {}, h("b", { class: "num" }, share(purity)), h("span", { class: "quiet" }, `  chance ${share(chance)}`)),
  );
  return h(
    "article",
    { class: "cluster", testid },
    h("header", {}, h("b", {}, name), h("span", { class: "small" }, plural(count, noun), "  ", action)),
    content,
    meterRow,
  );
}

/* Pictures of samples in a grid; those for which isOdd holds are underlined. */
function mosaic(sprite, samples, { isOdd, label, onPick }) {
  const cell = (i) => {
    const name = label(i) + (isOdd(i) ? " (of another class)" : "");
    const click = () => onPick(i);
    return thumb(sprite, i, null, { class: isOdd(i) ? "thumb odd" : "thumb", title: name, "aria-label": name, on: { click } });
  };
  return h("div", { class: "mosaic" }, [...samples].map(cell));
}

/* A bar of a share, with a tick at what it is compared with. */
function meter(value, tick, width) {
  const percent = (x) => `${100 * Math.max(0, Math.min(1, x))}%`;
  return h(
    "div",
    { class: "meter", style: { width } },
    h("span", { style: { width: percent(value) } }),
    tick === null || tick === undefined ? null : h("i", { style: { left: percent(tick) } }),
  );
}
