/* Groups of samples, by the model's guesses or, without any, by k-means: taken as a whole to be labelled. */
const FEW_GROUPS = 24, MOSAIC = 14;
let areAllShown = false;

function showGroups() {
  const { view } = studio, groups = view.guesses ? guessedGroups() : foundGroups();
  const shownGroups = areAllShown ? groups : groups.slice(0, FEW_GROUPS), rest = groups.length - shownGroups.length;
  const how = view.guesses
    ? "The model's guesses, largest first; pictures run from the most to the least probable."
    : "Samples that a model without labels finds alike. Take a group, drop what does not belong, label the rest.";
  put($("#groups-says"), groups.length ? how : "There are no groups before the first fit.");
  put($("#groups"), shownGroups.map(groupCard));
  put(
    $("#groups-more"),
    rest > 0
      ? h("button", { class: "linklike", type: "button", on: { click: showAllGroups } }, `show ${whole(rest)} more`)
      : null,
  );
}

function showAllGroups() {
  areAllShown = true;
  showGroups();
}

function guessedGroups() {
  const members = values().map(() => []), { sure } = studio.view;
  studio.samples.ids.forEach((_, i) => members[shown(i)]?.push(i));
  members.forEach((rows) => rows.sort((i, j) => sure[j] - sure[i]));
  return bySize(members.map((rows, c) => ({ name: values()[c], c, rows })));
}

function foundGroups() {
  const members = [];
  (studio.view.groups || []).forEach((g, i) => (members[g] ||= []).push(i));
  return bySize(members.map((rows) => ({ name: null, c: -1, rows })));
}

const bySize = (groups) => groups.filter(({ rows }) => rows.length).sort((a, b) => b.rows.length - a.rows.length);

function groupCard({ name, c, rows }, k) {
  const open = rows.filter((i) => !isLabelled(i)), step = Math.max(1, rows.length / MOSAIC);
  const cells = Array.from({ length: Math.min(MOSAIC, rows.length) }, (_, q) => rows[Math.floor(q * step)]);
  const take = () => {
    select(open);
    if (c >= 0) chooseValue(c);
    scrollTo({ top: 0, behavior: isCalm() ? "auto" : "smooth" });
  };
  return h(
    "article",
    { class: "cluster", testid: `group-${k}` },
    h(
      "header",
      {},
      h("b", {}, name === null ? `group ${k + 1}` : name),
      h("span", { class: "small" }, `${plural(rows.length, noun())}, ${whole(rows.length - open.length)} labelled`),
    ),
    h(
      "div",
      { class: studio.samples.sprite ? "mosaic" : "chips" },
      cells.map((i) =>
        face(i, { "data-sample": i, "aria-pressed": String(studio.selected.has(i)), on: { click: () => toggle(i) } }),
      ),
    ),
    h(
      "footer",
      {},
      open.length
        ? h(
            "button",
            { class: "linklike", type: "button", testid: `take-${k}`, on: { click: take } },
            `take the ${whole(open.length)} unlabelled`,
          )
        : h("span", { class: "quiet" }, "all labelled"),
    ),
  );
}
