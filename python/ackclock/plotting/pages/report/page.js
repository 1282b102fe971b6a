// The report as a page of its own: the time shown is in its address, keys are those of the whole page.
const theme = matchMedia("(prefers-color-scheme: dark)");

show(JSON.parse(document.getElementById("content").textContent), document.documentElement, {
  keys: document,
  isDark: () => theme.matches,
  onTheme: act => theme.addEventListener("change", act),
  asked: () => /^#([\d.]+)\.\.([\d.]+)$/.exec(location.hash)?.slice(1).map(Number),
  zoomed(from, to, isAll) {
    try { history.replaceState(null, "", isAll ? "#" : `#${from.toPrecision(9)}..${to.toPrecision(9)}`); } catch { /* a sandbox */ }
  },
});
