/* The report: read the record, draw every section, listen. */
function drawAll() {
  drawHero();
  drawStack();
  drawLayer(false);
  drawSample();
  drawTraining();
  drawViews();
  drawCourse();
}

function makeMap() {
  map = new Scatter($("#map"), {
    onHover: (i, place) => {
      if (i < 0) return showTip();
      showTip(place, ...card(i));
      $("#aria").textContent = describe(i);
    },
    onPick: (i) => {
      S.selection.clear();
      S.component = -1;
      choose(i);
      drawLegend();
      recolour();
    },
    onLasso: (samples, isAdded) => {
      if (!isAdded) S.selection.clear();
      for (const i of samples) S.selection.add(i);
      S.component = -1;
      drawLegend();
      drawInspector();
      recolour();
    },
    onClear: () => S.selection.size && clearSelection(),
  });
}

/* The section that is on the screen is marked in the bar. */
function followSections() {
  const links = $$(".bar nav a");
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) for (const link of links) link.setAttribute("aria-current", String(link.hash === `#${target.id}`));
      }
    },
    { rootMargin: "-30% 0px -65% 0px" },
  );
  for (const section of $$("main section[id]")) seen.observe(section);
  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      scrollToTop($(link.hash));
    });
  }
}

/* Paper is light and complete, whatever the screen shows. */
function preparePaper() {
  let screen = null;
  addEventListener("beforeprint", () => {
    screen = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    S.areAllClusters = S.areAllComponents = true;
    drawAll();
    const tables = R.scores.metrics.map((metric, m) => [h("p", { class: "label" }, METRICS[metric]), stackTable(m)]);
    if (tables.length > 1) put($("#stack-fig"), tables);
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = screen;
    S.areAllClusters = S.areAllComponents = false;
    drawAll();
  });
}

(async () => {
  if (typeof DecompressionStream === "undefined") {
    put($("#title"), "This page needs a browser of 2023 or newer.");
    return;
  }
  R = await unpackPage();
  if (R.display.kind === "image" && R.samples.values) {
    const { width, height, channels } = R.display;
    sprite = await makeSprite({ pixels: R.samples.values, n: R.n_shown, width, height, channels });
  }
  makeMap();
  S.layer = R.is_parallel ? 0 : R.layers.length - 1;
  S.sample = Math.floor(R.n_shown / 3);
  recall();
  const own = thisLayer().attribute;
  S.colour = own !== null ? String(own) : R.attributes.length ? "0" : "cluster";
  drawAll();
  addEventListener("themechange", drawAll);
  $("#theme").addEventListener("click", toggleTheme);
  listenToKeys();
  followSections();
  preparePaper();
  document.documentElement.dataset.ready = "1";
})();
