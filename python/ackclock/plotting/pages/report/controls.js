// The bar above the plots, the keyboard, and what is drawn first.
const KEYS = {
  ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2),
  0: () => zoom(content.window.from, content.window.to), n: () => step(1), p: () => step(-1),
  c: () => toggle("byController"), u: () => toggle("inSegments"), g: () => toggle("isSpread"), m: () => toggle("hasMarks"),
  "?": () => root.querySelector("#help").toggleAttribute("open"),
};

function pan(part) {
  const width = view.to - view.from, { from, to } = content.window;
  const at = Math.max(from, Math.min(view.from + part * width, to - width));
  zoom(at, at + width);
}

function scale(factor) {
  const middle = (view.from + view.to) / 2, half = ((view.to - view.from) / 2) * factor;
  zoom(middle - half, middle + half);
}

function toggle(name) {
  view[name] = !view[name];
  for (const button of root.querySelectorAll(`[data-toggle="${name}"]`)) button.setAttribute("aria-pressed", String(view[name]));
  changed();
}

host.keys.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const button of root.querySelectorAll("[data-key]")) button.addEventListener("click", () => KEYS[button.dataset.key]());
for (const button of root.querySelectorAll("[data-toggle]")) {
  button.setAttribute("aria-pressed", String(view[button.dataset.toggle]));
  button.addEventListener("click", () => toggle(button.dataset.toggle));
}
host.onTheme(changed);

const KINDS_OF_PLOTS = { panel: LinesPlot, lanes: LanesPlot, packets: PacketsPlot, curves: CurvesPlot };
const seen = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); entry.target.plot.start(); }
}, { rootMargin: "400px" });

const AT_ONCE = 2;

async function begin() {
  const asked = host.asked();
  if (asked) { view.from = Math.max(content.window.from, asked[0]); view.to = Math.min(content.window.to, asked[1]); }
  await readMoments();
  const boxes = [...root.querySelectorAll("[data-plot]")];
  for (const box of boxes) {
    const [kind, place] = box.dataset.plot.split(" ");
    const entry = { panel: content.panels, packets: content.packets, curves: content.distributions, lanes: [{}] }[kind][+place];
    box.plot = new KINDS_OF_PLOTS[kind](entry, box);
    if (boxes.indexOf(box) < AT_ONCE) box.plot.start(); else seen.observe(box);
  }
  host.onPrint?.(isPrinted => {
    view.isPrinted = isPrinted;
    for (const plot of plots) { plot.draw(); plot.changed(); }
  });
  for (const plot of plots) await plot.ready(); // a print waits for nothing: it draws what has been read
}

function end() {
  seen.disconnect();
  for (const plot of plots) plot.stop();
}

begin();
return { zoom, end };
