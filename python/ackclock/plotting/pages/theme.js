// Whether a cell of a notebook is dark, and when that changes.
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
