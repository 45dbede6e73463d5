/* Names with bars: [[name, value], ...]. Signed values grow from the middle. */
function bars(rows) {
  const largest = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  const isSigned = rows.some(([, value]) => value < 0);
  return h(
    "div",
    { class: "bars" },
    rows.map(([name, value]) => {
      const length = Math.abs(value) / largest;
      const place = isSigned
        ? { left: `${value < 0 ? 50 - 50 * length : 50}%`, width: `${50 * length}%` }
        : { left: 0, width: `${100 * length}%` };
      return h(
        "div",
        { class: "b" },
        h("span", { title: name }, name),
        h(
          "div",
          { class: "track plain" },
          h("span", { class: value < 0 ? "neg" : null, style: place }),
          isSigned ? h("i", { class: "zero", style: { left: "50%" } }) : null,
        ),
        h("span", { class: "v" }, digits(value)),
      );
    }),
  );
}

/* Shares of a selection, with a tick at the share in all samples: [[name, share, share in all], ...]. */
function shareBars(rows) {
  return h(
    "div",
    { class: "bars" },
    rows.map(([name, value, all]) =>
      h(
        "div",
        { class: "b" },
        h("span", { title: name }, name),
        h(
          "div",
          { class: "track" },
          h("span", { style: { left: 0, width: `${100 * value}%` } }),
          h("i", { style: { left: `${100 * all}%` } }),
        ),
        h("span", { class: "v" }, share(value)),
      ),
    ),
  );
}
