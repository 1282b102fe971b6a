// The report in a notebook's cell (anywidget): its styles and keys are its own, the time shown is a trait of the widget.
const WIDTH_OF_AN_EDGE = 1e-9;

// A colour of CSS, in whatever form, as red, green, blue and alpha from 0 to 255.
function numbersOf(colour) {
  const ctx = new OffscreenCanvas(1, 1).getContext("2d");
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, 1, 1);
  return ctx.getImageData(0, 0, 1, 1).data;
}

// Whether what lies behind an element is dark, as the notebook has it: themes differ in how they say it.
function isDark(element) {
  for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
    const [red, green, blue, alpha] = numbersOf(getComputedStyle(at).backgroundColor);
    if (alpha > 0) return 0.3 * red + 0.6 * green + 0.1 * blue < 110;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// What the notebook tells of another theme: an attribute of its body, or the system's choice.
function watchTheme(el, act) {
  const look = () => { const before = el.hasAttribute("data-dark"); if (el.toggleAttribute("data-dark", isDark(el)) !== before) act(); };
  const observer = new MutationObserver(look), system = matchMedia("(prefers-color-scheme: dark)");
  for (const at of [document.documentElement, document.body]) observer.observe(at, { attributes: true });
  system.addEventListener("change", look);
  return () => { observer.disconnect(); system.removeEventListener("change", look); };
}

function render({ model, el }) {
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" }), page = document.createElement("div");
  root.innerHTML = `<style>${model.get("_style")}</style>`;
  page.className = "page";
  page.tabIndex = 0;
  page.innerHTML = model.get("_body");
  root.append(page);
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // while it has the focus, JupyterLab leaves keys to it
  page.addEventListener("keydown", event => event.stopPropagation());
  let changed = () => {};
  const isSame = (from, to) => { const [a, b] = model.get("window_s"); return Math.abs(a - from) < WIDTH_OF_AN_EDGE && Math.abs(b - to) < WIDTH_OF_AN_EDGE; };
  el.toggleAttribute("data-dark", isDark(el));
  const forget = watchTheme(el, () => changed());
  const shown = show(JSON.parse(model.get("_content")), page, {
    keys: page,
    isDark: () => el.hasAttribute("data-dark"),
    onTheme: act => { changed = act; },
    asked: () => model.get("window_s"),
    zoomed(from, to) {
      if (isSame(from, to)) return;
      model.set("window_s", [from, to]);
      model.save_changes();
    },
  });
  const asked = () => shown.zoom(...model.get("window_s"));
  model.on("change:window_s", asked);
  return () => { model.off("change:window_s", asked); forget(); shown.end(); };
}

export default { render };
