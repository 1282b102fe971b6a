// A study in a notebook's cell (anywidget): which figure is shown is a trait, and its picture another, drawn when it is chosen.
function render({ model, el }) {
  const root = el.shadowRoot ?? el.attachShadow({ mode: "open" }), page = document.createElement("div");
  root.innerHTML = `<style>${model.get("_style")}</style>`;
  page.className = "page";
  page.innerHTML = model.get("_body");
  root.append(page);
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // while it has the focus, JupyterLab leaves keys to it
  page.addEventListener("keydown", event => event.stopPropagation());
  el.toggleAttribute("data-dark", isDark(el));
  const forget = watchTheme(el, () => {});
  const choice = page.querySelector("select"), image = page.querySelector("img"), caption = page.querySelector("figcaption");
  if (!choice) return forget; // a study without a figure has tables only
  const show = () => {
    const { name, caption: said, source } = model.get("_picture");
    choice.value = name;
    image.src = source;
    image.alt = caption.textContent = said;
  };
  choice.addEventListener("change", () => { model.set("figure", choice.value); model.save_changes(); });
  model.on("change:_picture", show);
  show();
  return () => { model.off("change:_picture", show); forget(); };
}

export default { render };
