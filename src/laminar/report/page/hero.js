/* Title and opening sentences, which Python writes: sentence.py. */
const N_PEEK = 35;
const unbroken = (text) => text.replace(/(\d) %/g, "$1\u00a0%");

function drawHero() {
  put($("#title"), R.title);
  put($("#lede"), R.lede.map(([text, isFinding]) => (isFinding ? h("b", {}, unbroken(text)) : unbroken(text))));
  const facts = [R.model, `${whole(R.n_samples)} × ${whole(R.n_features)}`];
  if (R.training.seconds !== null) facts.push(`fitted in ${digits(R.training.seconds)} s`);
  facts.push(`laminar ${R.version}`);
  if (R.n_shown < R.n_samples) facts.push(`${whole(R.n_shown)} drawn at random are on this page`);
  put($("#meta"), facts.map((fact) => h("span", {}, fact)));
  const peek = [...Array(Math.min(N_PEEK, R.n_shown)).keys()].map((k) => Math.floor((k * R.n_shown) / N_PEEK) % R.n_shown);
  put($("#peek"), isImage() ? peek.map((i) => thumb(sprite, i, null, { role: null }, "span")) : null);
  put($("#end"), `Written by laminar ${R.version}. This file needs no network and holds its data within itself.`);
}
