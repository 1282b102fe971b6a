// A lane for each flow: above, the state of its controller; below, what it repairs.
const MOST_LANES = 16;
const REPAIRS = ["#d55e00", "#e69f00", "#8c1d18"];

class LanesPlot extends Plot {
  async read() {}
  get lanes() { return content.flows.map((_, place) => place).filter(place => !view.hidden.has(`flow ${place}`)).slice(0, MOST_LANES); }
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
    for (const [flow, state, from, to] of content.states.spans) {
      if (rowOf.has(flow) && to > view.from && from < view.to) part(from, to, rowOf.get(flow) + 0.12 * high, 0.5 * high, colourAt(state));
    }
    for (const i of shownMoments()) {
      const top = rowOf.get(moments.flow[i]);
      if (top !== undefined) part(moments.at[i], moments.at[i] + (moments.for[i] || 0), top + 0.66 * high, 0.22 * high, shade(REPAIRS[moments.cause[i]]));
    }
    ctx.restore();
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
    const span = content.states.spans.find(([flow, , from, to]) => flow === lane && from <= time && time < to);
    this.state.textContent = lane === undefined ? "" : `${content.flows[lane].label}${span ? `: ${content.states.names[span[1]]}` : ""}`;
    said(momentAt(time, 3 * (view.to - view.from) / u.width) || `${number(time)} s`);
  }
}

const swatch = colour => made("i", { style: `border-top: 9px solid ${colour}` });
const shortened = text => (text.length > 11 ? `…${text.slice(-10)}` : text);
