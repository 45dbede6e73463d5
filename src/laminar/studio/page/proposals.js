/* Samples to label next, and why each. */
const REASONS = {
  uncertain: (i) => {
    const [first, second] = [values()[guess(i)], values()[studio.view.second[i]]];
    return [h("b", {}, first), h("br"), `or ${second}?`];
  },
  different: (i) => {
    const name = values()[guess(i)];
    return name === undefined ? "unlike the others" : ["guess ", h("b", {}, name), h("br"), "unlike any labelled"];
  },
  random: () => ["at random,", h("br"), "for the estimate"],
};

const proposals = () => (studio.view?.proposals || []).filter(([i]) => !isLabelled(i));

function showProposals() {
  const cards = proposals().map(([i, reason], k) =>
    h(
      "div",
      { class: `sug ${reason}`, testid: `suggest-${reason}` },
      face(i, {
        "data-sample": i, "aria-pressed": String(studio.selected.has(i)), "data-place": k,
        on: { click: () => select([i], { isProposed: true }) },
      }),
      REASONS[reason](i),
    ),
  );
  put($("#proposals"), cards.length ? cards : h("p", { class: "small" }, `All ${noun()[1]} have a label.`));
  $("#next").hidden = !cards.length;
}

function takeNext() {
  const rows = proposals().map(([i]) => i);
  if (!rows.length) return;
  const at = studio.selected.size === 1 ? rows.indexOf([...studio.selected][0]) : -1;
  select([rows[(at + 1) % rows.length]], { isProposed: true });
}
