// The time-sequence of a flow, as tcptrace draws it: data as bars, retransmissions, ACKs as stairs, SACKs, the window.
const KINDS = {
  data: ["data", null],
  again: ["sent again", "#d55e00"],
  ack: ["ACK", "#009e73"],
  sack: ["SACK", "#cc79a7"],
  edge: ["receiver's window", "#7f7f7f"],
  drop: ["dropped on the way", "#c1121f"],
};
const NEAR_PIXELS = 12;

class PacketsPlot extends Plot {
  async read() {
    const { entry } = this;
    const names = ["sent", "begin", "size", "again", "acked", "ack", "sacked", "left", "right", "dropped", "drop", "edge"];
    for (const name of names) this[name] = entry[name] == null ? new Float64Array() : await column(entry[name]);
    this.mss = content.flows[entry.flow].mss;
  }

  get height() { return this.width < 500 ? 280 : 420; }
  get factor() { return view.inSegments ? 1 / this.mss : this.unit[0]; }

  get unit() {
    const [low, high] = this.bounds();
    return high - low > 2e6 ? [1e-6, "MB"] : high - low > 4e3 ? [1e-3, "kB"] : [1, "octets"];
  }

  // The least and the greatest position in the time shown.
  bounds() {
    let low = Infinity, high = -Infinity;
    for (let i = placeOf(this.sent, view.from); i < this.sent.length && this.sent[i] <= view.to; i++) {
      low = Math.min(low, this.begin[i]);
      high = Math.max(high, this.begin[i] + this.size[i]);
    }
    for (let i = placeOf(this.acked, view.from); i < this.acked.length && this.acked[i] <= view.to; i++) {
      low = Math.min(low, this.ack[i]);
      high = Math.max(high, this.ack[i]);
    }
    return low < high ? [low, high] : [0, 1];
  }

  data() {
    const { factor } = this;
    return [[view.from, view.to], this.bounds().map(position => position * factor)];
  }

  series() { return [{ show: true, stroke: "transparent", points: { show: false } }]; }
  label() { return `sequence (${view.inSegments ? "segments" : this.unit[1]})`; }

  range() {
    const [low, high] = this.bounds(), room = 0.04 * (high - low), { factor } = this;
    return [Math.max(0, low - room) * factor, (high + room) * factor];
  }

  zoomed() {
    if (this.chart) this.changed(); // the unit of the axis may be another
  }

  colourOf(kind) { return KINDS[kind][1] ? shade(KINDS[kind][1]) : css("--ink"); }

  drawn(u) {
    const { ctx, bbox } = u;
    this.x = time => u.valToPos(time, "x", true);
    const { factor } = this;
    this.y = position => u.valToPos(position * factor, "y", true);
    ctx.save();
    ctx.beginPath(); ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height); ctx.clip();
    ctx.lineWidth = devicePixelRatio;
    this.stairs(ctx, this.acked, this.edge, "edge");
    this.bars(ctx, "data", this.sent, i => this.begin[i], i => this.begin[i] + this.size[i], i => !this.again[i]);
    this.stairs(ctx, this.acked, this.ack, "ack");
    this.bars(ctx, "sack", this.sacked, i => this.left[i], i => this.right[i], () => true);
    ctx.lineWidth = 2 * devicePixelRatio;
    this.bars(ctx, "again", this.sent, i => this.begin[i], i => this.begin[i] + this.size[i], i => this.again[i]);
    this.crosses(ctx);
    ctx.restore();
  }

  // A bar from where a segment begins to where it ends, with ends of its own where there is room.
  bars(ctx, kind, times, from, to, isWanted) {
    const wing = 2.5 * devicePixelRatio;
    ctx.strokeStyle = this.colourOf(kind);
    ctx.beginPath();
    for (let i = placeOf(times, view.from); i < times.length && times[i] <= view.to; i++) {
      if (!isWanted(i)) continue;
      const x = this.x(times[i]), low = this.y(from(i)), high = this.y(to(i));
      ctx.moveTo(x, low); ctx.lineTo(x, low - high < 1 ? low - 1 : high);
      if (low - high < 5 * wing) continue;
      ctx.moveTo(x - wing, low); ctx.lineTo(x + wing, low);
      ctx.moveTo(x - wing, high); ctx.lineTo(x + wing, high);
    }
    ctx.stroke();
  }

  stairs(ctx, times, positions, kind) {
    if (!positions.length) return;
    ctx.strokeStyle = this.colourOf(kind);
    ctx.beginPath();
    const first = Math.max(0, placeOf(times, view.from) - 1);
    for (let i = first; i < times.length; i++) {
      const x = this.x(times[i]), y = this.y(positions[i]);
      if (i > first) ctx.lineTo(x, this.y(positions[i - 1]));
      ctx.lineTo(x, y);
      if (times[i] > view.to) break;
    }
    ctx.stroke();
  }

  crosses(ctx) {
    const size = 4 * devicePixelRatio;
    ctx.strokeStyle = this.colourOf("drop");
    for (let i = placeOf(this.dropped, view.from); i < this.dropped.length && this.dropped[i] <= view.to; i++) {
      drawSign(ctx, 2, this.x(this.dropped[i]), this.y(this.drop[i]), size);
    }
  }

  fill() {
    this.legend.replaceChildren();
    const has = { data: true, again: this.again.some(Boolean), ack: true, sack: this.sacked.length, edge: this.edge.length, drop: this.dropped.length };
    for (const [kind, [name]] of Object.entries(KINDS)) {
      if (has[kind]) this.legend.append(made("span", {}, made("i", { style: `border-top: 3px solid ${this.colourOf(kind)}` }), name));
    }
    this.near = made("span");
    this.legend.append(this.near);
  }

  values(u) {
    if (!u.cursor.event || u.cursor.left < 0) { this.near.textContent = ""; return; }
    const time = u.posToVal(u.cursor.left, "x");
    this.near.textContent = this.nearest(u, time);
    said(momentAt(time, 3 * (view.to - view.from) / u.width) || `${number(time)} s`);
  }

  // The segment under the cursor, in words.
  nearest(u, time) {
    const reach = (NEAR_PIXELS * (view.to - view.from)) / u.width, position = u.posToVal(u.cursor.top, "y") / this.factor;
    const high = (NEAR_PIXELS * (u.scales.y.max - u.scales.y.min)) / (u.height * this.factor);
    let best = -1, least = 1;
    for (let i = placeOf(this.sent, time - reach); i < this.sent.length && this.sent[i] <= time + reach; i++) {
      const away = Math.max(this.begin[i] - position, position - this.begin[i] - this.size[i], 0) / high;
      const distance = Math.max(away, Math.abs(this.sent[i] - time) / reach);
      if (distance < least) { least = distance; best = i; }
    }
    if (best < 0) return "";
    const again = this.again[best] ? ", sent again" : "";
    return `${this.begin[best]} + ${this.size[best]} octets at ${this.sent[best].toFixed(6)} s${again}`;
  }
}
