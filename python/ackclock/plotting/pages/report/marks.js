// Congestion episodes in every plot over time: a pale band while something is repaired, a mark where it began.
const CAUSES = ["loss", "ECN mark", "timeout"];
const MOST_BANDS = 6;
const MOST_MARKS = 150;
const moments = { count: 0 };

async function readMoments() {
  const found = content.moments;
  if (!found.count) return;
  for (const key of ["at", "flow", "cause", "for", "lost", "before", "after", "spurious"]) moments[key] = await column(found[key]);
  moments.count = found.count;
  moments.longest = moments.for.reduce((longest, one) => Math.max(longest, one || 0), 0);
}

// The episodes that reach into the time shown, of flows that are shown.
function* shownMoments(from = view.from, to = view.to) {
  if (!moments.count) return;
  for (let i = placeOf(moments.at, from - moments.longest); i < moments.count && moments.at[i] <= to; i++) {
    if (!view.hidden.has(`flow ${moments.flow[i]}`)) yield i;
  }
}

const shownFlows = () => content.flows.filter((_, place) => !view.hidden.has(`flow ${place}`)).length;

// Of all flows, or of one.
function drawBands(u, flow = -1) {
  if (!view.hasMarks || (flow < 0 && shownFlows() > MOST_BANDS)) return;
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.globalAlpha = 0.13;
  for (const i of shownMoments()) {
    if (flow >= 0 && moments.flow[i] !== flow) continue;
    const from = Math.max(left, u.valToPos(moments.at[i], "x", true));
    const to = Math.min(left + width, u.valToPos(moments.at[i] + (moments.for[i] || 0), "x", true));
    u.ctx.fillStyle = colourOfFlow(moments.flow[i]);
    if (to > from) u.ctx.fillRect(from, top, Math.max(1, to - from), height);
  }
  u.ctx.restore();
}

// A mark at the top of a plot, or where the window was: a triangle for a loss, a diamond for a mark, a cross for a timeout.
function drawMarks(u, heightOf) {
  if (!view.hasMarks || (shownFlows() > MOST_BANDS && [...shownMoments()].length > MOST_MARKS)) return;
  const { left, top, width } = u.bbox, size = 4 * devicePixelRatio, drawn = new Set();
  u.ctx.save();
  u.ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const i of shownMoments()) {
    const x = u.valToPos(moments.at[i], "x", true), y = heightOf ? heightOf(i) : top + size;
    const key = `${Math.round(x)} ${Math.round(y / 4)} ${moments.flow[i]}`;
    if (x < left || x > left + width || y == null || drawn.has(key)) continue;
    drawn.add(key);
    u.ctx.fillStyle = u.ctx.strokeStyle = colourOfFlow(moments.flow[i]);
    drawSign(u.ctx, moments.cause[i], x, y, size);
  }
  u.ctx.restore();
}

function drawSign(ctx, cause, x, y, size) {
  ctx.beginPath();
  if (cause === 2) {
    ctx.moveTo(x - size, y - size); ctx.lineTo(x + size, y + size); ctx.moveTo(x + size, y - size); ctx.lineTo(x - size, y + size);
    ctx.stroke();
    return;
  }
  if (cause === 0) { ctx.moveTo(x - size, y - size); ctx.lineTo(x + size, y - size); ctx.lineTo(x, y + size); }
  else { ctx.moveTo(x, y - size); ctx.lineTo(x + size, y); ctx.lineTo(x, y + size); ctx.lineTo(x - size, y); }
  ctx.closePath();
  ctx.fill();
}

// What happened at a time, in words; the episode that began last, if it is not over yet or near.
function momentAt(time, near) {
  let found = -1;
  for (const i of shownMoments(time - near, time + near)) {
    if (moments.at[i] + Math.max(moments.for[i] || 0, near) >= time) found = i;
  }
  return found < 0 ? "" : momentSaid(found);
}

function momentSaid(i) {
  const flow = content.flows[moments.flow[i]], windowOf = bytes => Math.round(bytes / flow.mss);
  const lost = moments.cause[i] === 1 ? "marked" : "lost";
  const parts = [`${flow.label}: ${CAUSES[moments.cause[i]]} at ${number(moments.at[i])} s`, `${moments.lost[i]} ${lost}`,
    `window ${windowOf(moments.before[i])} → ${windowOf(moments.after[i])} segments`];
  if (moments.for[i]) parts.push(`over after ${number(moments.for[i] * 1e3)} ms`);
  if (moments.spurious[i]) parts.push("undone: it was none");
  return parts.join(", ");
}

// Go to the next or the previous episode, which is put in the middle; where all is shown, to the first or the last.
function step(direction) {
  const { from, to } = content.window, isAll = view.from === from && view.to === to;
  const half = (view.to - view.from) / 2, nearly = half * 1e-3;
  const middle = isAll ? (direction > 0 ? from - 2 * nearly : to + 2 * nearly) : view.from + half;
  let found = -1;
  for (const i of shownMoments(content.window.from, content.window.to)) {
    if (direction > 0 && moments.at[i] > middle + nearly) { found = i; break; }
    if (direction < 0 && moments.at[i] < middle - nearly) found = i;
  }
  if (found < 0) return said(direction > 0 ? "no later episode" : "no earlier episode");
  const width = Math.min(half, (to - from) / 40);
  zoom(moments.at[found] - width, moments.at[found] + width);
  said(momentSaid(found));
}
