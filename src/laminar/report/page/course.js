/* Sequences: the slowest feature over the frames, with the phases that were found and those that are known. */
const PHASE_TINT = { neutral: 0, onset: 0.1, apex: 0.2, offset: 0.1 };

function drawCourse() {
  $("#time-part").hidden = !R.course;
  if (!R.course) return;
  const { layer, component, delta, baseline, sequences } = R.course;
  const compared = baseline === null ? "" : `; the slowest of as many principal components changes by ${digits(baseline)}`;
  put(
    $("#time"),
    h("h3", {}, `The slowest feature, component ${component + 1} of ${layer}`),
    h("p", { class: "small how" }, `Its mean squared change a frame is ${digits(delta)} of its variance${compared}. Shaded: phases of a trapezoid fitted to it.`),
    sequences.map((sequence, q) => timeline(sequence, q)),
  );
}

function timeline({ name, samples, signal, starts, phases, cost, true: known }, q) {
  const n = signal.length, width = 1120, height = 150;
  const chart = curve([{ values: signal }], { width, height, axis: false, label: `${name || "sequence"}: ${phases.map((phase, k) => `${phase} from frame ${starts[k] + 1}`).join(", ")}` });
  chart.classList.add("timeline-chart");
  const x = (frame) => 4 + ((width - 8) * frame) / Math.max(1, n - 1);
  const bands = phases.map((phase, k) => h("rect", { x: x(starts[k]), y: 0, width: x(starts[k + 1] ?? n - 1) - x(starts[k]), height, fill: "rgb(var(--tint))", "fill-opacity": PHASE_TINT[phase] ?? 0.05 }));
  chart.prepend(...bands);
  const head = h("line", { class: "head", y1: 0, y2: height, "vector-effect": "non-scaling-stroke" });
  chart.append(head);
  const hasRoom = (k) => ((starts[k + 1] ?? n) - starts[k]) / n > 0.07; // for its name
  const at = (frame) => `${(100 * frame) / Math.max(1, n - 1)}%`;
  const names = h("div", { class: "phases" }, phases.map((phase, k) => (hasRoom(k) ? h("span", { style: { left: at(starts[k]) } }, phase) : null)));
  const strip = known ? h("div", { class: "known", role: "img", "aria-label": "known phases" }, runs(known).map(([start, end, code]) => h("span", { title: code < 0 ? "unknown" : R.course.classes[code], style: { left: `${(100 * start) / n}%`, width: `${(100 * (end - start)) / n}%`, background: classStyle(code, R.course.classes.length).colour } }))) : null;
  const now = h("div"), says = h("p", { class: "small" });
  const input = h("input", { type: "range", min: 0, max: n - 1, value: Math.floor(n / 2), "aria-label": `frame of ${name || "the sequence"}`, testid: q ? null : "frame-slider", on: { input: () => go(+input.value) } });
  function go(frame) {
    input.value = frame;
    input.style.setProperty("--v", (100 * frame) / Math.max(1, n - 1));
    head.setAttribute("x1", x(frame));
    head.setAttribute("x2", x(frame));
    const i = samples[frame], k = starts.findLastIndex((start) => frame >= start);
    put(now, i >= 0 ? picture(i, 96) : null);
    put(says, h("b", {}, `frame ${frame + 1}`), ` of ${n}, ${phases[k] ?? ""}`, known && known[frame] >= 0 ? `; known: ${R.course.classes[known[frame]]}` : "");
  }
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    go(Math.max(0, Math.min(n - 1, Math.round(((event.clientX - box.left) / box.width) * (n - 1)))));
  });
  go(Math.floor(n / 2));
  return h(
    "div",
    { class: "timeline" },
    h("div", {}, name ? h("p", { class: "label" }, h("b", {}, name), `  phases leave ${fineShare(cost)} of its variance unexplained`) : null, names, chart, strip, input),
    h("div", {}, now, says),
  );
}

/* Runs of equal codes: [first, one past the last, code]. */
function runs(codes) {
  const found = [];
  codes.forEach((code, i) => {
    if (found.length && found.at(-1)[2] === code) found.at(-1)[1] = i + 1;
    else found.push([i, i + 1, code]);
  });
  return found;
}
