/* Starts the page, and keeps it as the server is. */
const BUSY = 400, IDLE = 1500, LOST = 3000; // milliseconds between two requests
let timer = 0, isRefreshing = null;

/* One request at a time; who comes meanwhile waits for another one. */
async function refresh() {
  if (isRefreshing) await isRefreshing;
  isRefreshing = refreshNow().finally(() => (isRefreshing = null));
  return isRefreshing;
}

async function refreshNow() {
  clearTimeout(timer);
  let pause = LOST;
  try {
    const wanted = studio.attribute;
    const known = { version: studio.version, revision: studio.revision };
    if (studio.version >= 0) known.attribute = wanted ?? "";
    const found = await request(`/state?${new URLSearchParams(known)}`);
    if (wanted === studio.attribute) show(found);
    pause = found.progress || !studio.view?.map || studio.view.fit?.version !== studio.version ? BUSY : IDLE;
    if ($("#saved").dataset.kind === "gone") {
      showNotice("");
      showSaved("saved");
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    showFailure(error, false);
  } finally {
    timer = setTimeout(refresh, pause);
  }
}

/* Show an answer of the server; a part that is as it was is not in it. */
function show(found) {
  const { labels, view, progress } = found, before = studio.view;
  const isFirst = studio.version < 0;
  Object.assign(studio, { version: found.version, revision: found.revision, undo: found.undo, redo: found.redo });
  studio.base = Math.max(studio.base, found.version);
  if (labels) studio.labels = labels;
  if (isFirst) studio.attribute = found.attribute;
  const isGone = labels && studio.attribute !== null && !column() && studio.version >= studio.base;
  if (isGone) studio.attribute = studio.labels[0]?.name ?? null;
  if (view && found.attribute === studio.attribute) studio.view = view;
  else if (view) studio.revision = -1; // of another attribute: the next answer has this one
  showBusy(progress);
  if (found.error) showNotice(found.error);
  if (studio.view && (labels || view)) {
    showAttributes();
    showValues();
    showMap(before?.map != null);
    showProposals();
    showChanges();
    showEstimate();
    showGroups();
    showCount();
    showLast();
    showSelection();
  }
  if (isFirst) showSaved("saved");
}

function showCount() {
  const n = studio.samples.ids.length, labelled = (column()?.codes || []).filter((c) => c >= 0).length;
  const by = studio.attribute === null ? "" : ` labelled by ${studio.attribute}`;
  put($("#count"), studio.attribute === null ? plural(n, noun()) : `${whole(labelled)} of ${plural(n, noun())}${by}`);
}

function showLast() {
  const { undo: last } = studio;
  $("#undo").disabled = !studio.undo;
  $("#redo").disabled = !studio.redo;
  if (!last) return put($("#last"));
  const button = h("button", { class: "linklike", type: "button", on: { click: undo } }, "undo");
  const value = h("b", {}, last.value === null ? "no label" : last.value);
  const what = ` to ${plural(last.count, noun())}, ${timeAgo(last.time)}. `;
  put($("#last"), "Last: ", value, what, button, " ", h("kbd", {}, "z"));
}

function timeAgo(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return new Date(time).toLocaleString();
}

/* What is being computed; the bar is the time that the step took the last time. */
function showBusy(progress) {
  $("#busy").hidden = !progress;
  if (!progress) return;
  const { text, seconds, usual } = progress;
  const of = usual ? ` of about ${usual.toFixed(usual < 10 ? 1 : 0)} s` : " s";
  put($("#busy-text"), `${text}, ${seconds.toFixed(1)}${of}`);
  const done = usual ? Math.min(0.97, seconds / usual) : 1 - Math.exp(-seconds / 8);
  $("#busy-fill").style.setProperty("width", `${100 * done}%`);
}

function viewAttribute(name) {
  studio.attribute = name;
  studio.revision = -1;
  studio.view = { ...studio.view, guesses: null, second: null, sure: null, changes: [], estimates: [] };
  studio.selected.clear();
  studio.value = $("#value").value = "";
  showAttributes();
  showValues();
  showSelection();
  if (name === null) $("#attribute").focus();
  refresh();
}

async function start() {
  const { samples } = await unpackPage();
  const { pictures, ...rest } = samples;
  studio.samples = { ...rest, sprite: pictures ? await makeSprite(pictures) : null };
  put($("#title"), `Studio: ${samples.name}`);
  put($("#end"), `On this machine alone, at ${location.host}. Nothing leaves it. The labels are in ${samples.path}.`);
  makeMap();
  $("#form").addEventListener("submit", (event) => {
    event.preventDefault();
    giveLabel(studio.value.trim());
    $("#value").blur();
  });
  $("#value").addEventListener("input", (event) => {
    studio.value = event.target.value;
    showValues();
  });
  $("#forget").addEventListener("click", forget);
  $("#clear").addEventListener("click", () => select([]));
  $("#next").addEventListener("click", takeNext);
  $("#undo").addEventListener("click", undo);
  $("#redo").addEventListener("click", redo);
  $("#theme").addEventListener("click", toggleTheme);
  $("#keys").addEventListener("click", () => $("#help").showModal());
  $("#help-close").addEventListener("click", () => $("#help").close());
  addEventListener("themechange", () => studio.view && show({ ...studio, view: studio.view }));
  writer($("#save-model"), "/model");
  writer($("#save-report"), "/report");
  listenToKeys();
  await refresh();
  document.documentElement.dataset.ready = "1";
}

start();
