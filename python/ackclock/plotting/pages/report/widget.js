// The report in a notebook's cell (anywidget): its styles and keys are its own, the time shown is a trait of the widget.
const WIDTH_OF_AN_EDGE = 1e-9;

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
