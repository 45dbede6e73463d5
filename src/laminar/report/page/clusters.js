/* Clusters of a layer: all of them up to 24, or else the purest and the most mixed, in the same size. */
function drawClusters() {
  const layer = thisLayer(), a = clusterAttribute(layer), ends = innerWidth < 560 ? 4 : 12;
  const rows = [...layer.clusters.entries()].map(([c, cluster]) => ({ c, ...cluster, of: a < 0 ? [null, null, null] : cluster.attributes[a] }));
  rows.sort((x, y) => (y.of[1] ?? -1) - (x.of[1] ?? -1) || y.size - x.size);
  const areFew = rows.length <= 2 * ends;
  const shown = areFew || S.areAllClusters ? rows : [...rows.slice(0, ends), ...rows.slice(-ends)];
  put($("#clusters-says"), clustersSentence(rows, a));
  put($("#clusters"), shown.map((row) => oneCluster(layer, row, a)));
  const toggle = () => {
    S.areAllClusters = !S.areAllClusters;
    drawClusters();
  };
  const more = S.areAllClusters ? "Show fewer" : `Show the ${rows.length - 2 * ends} in between`;
  put($("#clusters-more"), areFew ? null : h("button", { class: "btn noprint", type: "button", testid: "clusters-more", on: { click: toggle } }, more));
}

/* The attribute that clusters are compared with: the one that colours the map, else that of the layer, else the first. */
function clusterAttribute(layer) {
  if (/^\d+$/.test(S.colour)) return +S.colour;
  return layer.attribute ?? (R.attributes.length ? 0 : -1);
}

function clustersSentence(rows, a) {
  const known = rows.filter((row) => row.of[1] !== null), count = `${rows.length} clusters`;
  const order = isImage() ? "from the most to the least typical" : R.samples.values && R.display.kind === "bars" ? "the columns in which it differs most from the mean, in standard deviations" : "its most typical samples";
  if (a < 0 || !known.length) return `${count}, found without labels. In each, ${order}.`;
  const total = known.reduce((sum, row) => sum + row.size, 0);
  const mean = (k) => known.reduce((sum, row) => sum + row.size * row.of[k], 0) / total;
  const attribute = R.attributes[a], areGiven = attribute.given.some((given) => given);
  const counted = areGiven ? (R.scores.way === "withheld" ? ", counting labels that the model was given" : ", counting only labels that the model was not given") : "";
  const odd = isImage() ? `, underlined where it is another ${attribute.name}` : "";
  return (
    `${count}, ${share(mean(1))} pure by ${attribute.name}${counted}; clusters of these sizes drawn at random would be ` +
    `${share(mean(2))} pure. Purest first; in each, ${order}${odd}.`
  );
}

function oneCluster(layer, { c, size, samples, of: [code, purity, chance] }, a) {
  const attribute = R.attributes[a], title = code === null ? `cluster ${c + 1}` : attribute.classes[code];
  const select = () => {
    S.selection = new Set([...layer.labels.keys()].filter((i) => layer.labels[i] === c));
    S.component = -1;
    drawInspector();
    recolour();
    scrollToTop($("#layer"));
  };
  const isOdd = (i) => code !== null && attribute.codes[i] >= 0 && attribute.codes[i] !== code;
  const about = code === null ? null : `${share(purity)} of this cluster are ${title}; by chance ${share(chance)}`;
  return clusterCard(
    { name: title, count: size, purity, chance, title: about, testid: `cluster-${c}` },
    clusterContent(layer, c, samples, isOdd),
    R.noun,
    h("button", { class: "linklike noprint", type: "button", "aria-label": `show ${title}, cluster ${c + 1}, on the map`, on: { click: select } }, "show"),
  );
}

function clusterContent(layer, c, samples, isOdd) {
  if (isImage()) return mosaic(sprite, samples, { isOdd, label: describe, onPick: choose });
  if (R.display.kind === "bars" && R.samples.values) return bars(profile(layer, c));
  if (R.display.kind === "line" && R.samples.values) return meanCurve(layer, c);
  const words = topOfCluster(layer, c);
  return h("div", {}, words.length ? bars(words) : null, h("ul", { class: "small names" }, [...samples].slice(0, 3).map((i) => small(i))));
}

/* Columns in which the mean of a cluster differs most from the mean of all, in standard deviations. */
function profile(layer, c) {
  const d = R.display.names.length, { values } = R.samples;
  return R.display.names
    .map((name, j) => {
      let sum = 0, squares = 0, inside = 0, n = 0;
      for (let i = 0; i < R.n_shown; i++) {
        const value = values[i * d + j];
        sum += value;
        squares += value * value;
        if (layer.labels[i] === c) [inside, n] = [inside + value, n + 1];
      }
      const mean = sum / R.n_shown, deviation = Math.sqrt(Math.max(0, squares / R.n_shown - mean * mean));
      return [name, deviation ? (inside / n - mean) / deviation : 0];
    })
    .sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]))
    .slice(0, 6);
}

function meanCurve(layer, c) {
  const mean = (isInside) => {
    const total = new Float64Array(R.display.names.length);
    let n = 0;
    for (let i = 0; i < R.n_shown; i++) {
      if (!isInside(i)) continue;
      n++;
      sampleRow(i).forEach((value, j) => (total[j] += value));
    }
    return total.map((value) => value / (n || 1));
  };
  const lines = [{ values: mean(() => true), class: "curve faint" }, { values: mean((i) => layer.labels[i] === c) }];
  return curve(lines, { width: 252, height: 90, axis: false, label: `mean of cluster ${c + 1}, and of all in grey` });
}

/* Words or columns that the samples of a cluster have most of, beyond their share in all. */
function topOfCluster(layer, c) {
  if (!R.samples.top) return [];
  const inside = new Map(), all = new Map(), { features, weights, largest, n_top: width } = R.samples.top;
  let n = 0;
  for (let i = 0; i < R.n_shown; i++) {
    const isInside = layer.labels[i] === c;
    n += isInside ? 1 : 0;
    for (let k = 0; k < width; k++) {
      const feature = features[i * width + k], weight = (weights[i * width + k] / 127) * largest[i];
      all.set(feature, (all.get(feature) || 0) + weight / R.n_shown);
      if (isInside) inside.set(feature, (inside.get(feature) || 0) + weight);
    }
  }
  return [...inside]
    .map(([feature, sum]) => [R.display.names[feature] ?? "", sum / (n || 1) - all.get(feature)])
    .filter(([, value]) => value > 0)
    .sort((x, y) => y[1] - x[1])
    .slice(0, 6);
}
