// The report as a page of its own: the time shown is in its address, keys are those of the whole page.
const theme = matchMedia("(prefers-color-scheme: dark)"), page = document.documentElement;

show(JSON.parse(document.getElementById("content").textContent), page, {
  keys: document,
  isDark: () => theme.matches && !page.hasAttribute("data-print"),
  onTheme: act => theme.addEventListener("change", act),
  onPrint(act) {
    addEventListener("beforeprint", () => { page.setAttribute("data-print", ""); act(true); });
    addEventListener("afterprint", () => { page.removeAttribute("data-print"); act(false); });
  },
  asked: () => /^#([\d.]+)\.\.([\d.]+)$/.exec(location.hash)?.slice(1).map(Number),
  zoomed(from, to, isAll) {
    try { history.replaceState(null, "", isAll ? "#" : `#${from.toPrecision(9)}..${to.toPrecision(9)}`); } catch { /* a sandbox */ }
  },
});
