// A lane for each flow: above, the state of its controller; below, what it repairs.
const REPAIRS = ["#d55e00", "#e69f00", "#8c1d18"];

class LanesPlot extends Plot {
  async read() {
    this.spans = { count: content.states.count };
    if (!this.spans.count) return;
    for (const key of ["flow", "state", "at", "until"]) this.spans[key] = await column(content.states[key]);
  }

  get lanes() { return content.flows.map((_, place) => place).filter(place => !view.hidden.has(`flow ${place}`)).slice(0, content.lanes); }
  get height() { return 46 + Math.max(2, this.lanes.length) * 24; }
  data() { return [[view.from, view.to], [null, null]]; }
  series() { return [{ show: true, points: { show: false } }]; }
  label() { return ""; }
  range() { return [0, Math.max(1, this.lanes.length)]; }

  vertical() {
    const { lanes } = this, count = lanes.length;
    return {
      labelSize: 0, size: 78, splits: () => lanes.map((_, row) => count - row - 0.5), grid: { show: false },
      values: () => lanes.map(place => shortened(content.flows[place].label)),
    };
  }

  drawn(u) {
    const { lanes } = this, count = lanes.length, high = u.bbox.height / Math.max(1, count);
    const rowOf = new Map(lanes.map((place, row) => [place, u.bbox.top + row * high]));
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
    const part = (from, to, y, height, colour) => {
      const x = u.valToPos(from, "x", true);
      ctx.fillStyle = colour;
      ctx.fillRect(x, y, Math.max(1, u.valToPos(to, "x", true) - x), height);
    };
    this.drawStates(u, rowOf, (from, to, flow, state) => part(from, to, rowOf.get(flow) + 0.12 * high, 0.5 * high, colourAt(state)));
    for (const i of shownMoments()) {
      const top = rowOf.get(moments.flow[i]);
      if (top !== undefined) part(moments.at[i], moments.at[i] + (moments.for[i] || 0), top + 0.66 * high, 0.22 * high, shade(REPAIRS[moments.cause[i]]));
    }
    ctx.restore();
  }

  // Every state that a pixel has is drawn there, each once: of many thousand within one, those beyond would change nothing.
  drawStates(u, rowOf, draw) {
    const { flow, state, at, until, count } = this.spans;
    let [lane, drawn] = [-1, new Map()];
    for (let i = 0; i < count; i++) {
      if (!rowOf.has(flow[i]) || until[i] <= view.from || at[i] >= view.to) continue;
      if (flow[i] !== lane) [lane, drawn] = [flow[i], new Map()];
      const end = u.valToPos(until[i], "x", true);
      if (end < Math.ceil(drawn.get(state[i]) ?? -1)) continue;
      drawn.set(state[i], end);
      draw(at[i], until[i], lane, state[i]);
    }
  }

  stateAt(lane, time) {
    const { flow, state, at, until, count } = this.spans;
    for (let i = 0; i < count; i++) if (flow[i] === lane && at[i] <= time && time < until[i]) return content.states.names[state[i]];
    return null;
  }

  fill() {
    this.legend.replaceChildren();
    content.states.names.forEach((name, place) => this.legend.append(made("span", {}, swatch(colourAt(place)), name)));
    const causes = new Set(moments.count ? moments.cause : []);
    CAUSES.forEach((name, cause) => causes.has(cause) && this.legend.append(made("span", {}, swatch(shade(REPAIRS[cause])), `repairs after a ${name}`)));
    this.state = made("span");
    this.legend.append(this.state);
  }

  values(u) {
    if (!u.cursor.event || u.cursor.left < 0) { this.state.textContent = ""; return; }
    const time = u.posToVal(u.cursor.left, "x"), { lanes } = this;
    const lane = lanes[Math.floor((u.cursor.top / (u.bbox.height / devicePixelRatio)) * lanes.length)];
    const state = lane === undefined ? null : this.stateAt(lane, time);
    this.state.textContent = lane === undefined ? "" : `${content.flows[lane].label}${state ? `: ${state}` : ""}`;
    said(momentAt(time, 3 * (view.to - view.from) / u.width) || `${number(time)} s`);
  }
}

const swatch = colour => made("i", { style: `border-top: 9px solid ${colour}` });
const shortened = text => (text.length > 11 ? `…${text.slice(-10)}` : text);
