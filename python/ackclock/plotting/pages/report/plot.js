// One plot over time: its lines, a legend with the values under the cursor, and the same time as all others.
const PIXELS_A_SAMPLE = 2.5;
const PRINTED = { half: 335, wide: 690 }; // widths on paper: A4 and Letter have 694 pixels between their margins

class Plot {
  constructor(entry, box) {
    this.entry = entry;
    this.box = box;
    this.legend = made("div", { class: "legend" });
    this.canvas = made("div", { class: "canvas" });
    box.append(this.legend, this.canvas);
    plots.push(this);
  }

  // Draw when it is first near what is seen.
  async start() {
    await this.ready();
    this.draw();
  }

  ready() { return (this.reading ??= this.read().then(() => { this.isRead = true; })); }

  draw() {
    if (this.chart || !this.isRead) return;
    this.chart = new uPlot(this.options(), this.data(), this.canvas);
    this.fill();
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.canvas);
    root.dataset.firstPlot ??= Math.round(performance.now());
  }

  stop() {
    this.watcher?.disconnect();
    this.chart?.destroy();
  }

  get width() {
    if (view.isPrinted) return this.box.classList.contains("wide") ? PRINTED.wide : PRINTED.half;
    return Math.max(240, this.canvas.clientWidth);
  }
  get height() { return this.width < 500 ? 200 : 260; }

  resize() {
    if (this.chart && this.width !== this.chart.width) this.chart.setSize({ width: this.width, height: this.height });
  }

  zoomed() {
    if (!this.chart) return;
    this.chart.batch(() => {
      this.chart.setData(this.data(), false);
      this.chart.setScale("x", { min: view.from, max: view.to });
    });
  }

  changed() {
    if (!this.chart) return;
    this.chart.destroy();
    this.chart = new uPlot(this.options(), this.data(), this.canvas);
    this.fill();
  }

  // The options that all plots have; `series`, `range` and `label` are those of the kind.
  options() {
    const axis = { stroke: () => css("--ink"), grid: { stroke: () => css("--rule"), width: 1 }, ticks: { stroke: () => css("--rule"), size: 4 }, font: "12px system-ui" };
    return {
      width: this.width, height: this.height, legend: { show: false }, pxAlign: 0,
      scales: { x: { time: false, min: view.from, max: view.to, auto: false }, y: { range: (u, low, high) => this.range(low, high) } },
      axes: [
        { ...axis, label: "time (s)", labelSize: 16, labelFont: "12px system-ui", size: 30, values: (u, at) => at.map(value => (value == null ? "" : number(value))) },
        { ...axis, label: this.label(), labelSize: 18, labelFont: "12px system-ui", size: 60, values: (u, at) => at.map(value => (value == null ? "" : number(value))), ...this.vertical() },
      ],
      series: [{}, ...this.series()],
      cursor: {
        sync: { key: linked, scales: ["x", null], setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        bind: { dblclick: () => () => { zoom(content.window.from, content.window.to); return null; } },
      },
      hooks: {
        drawClear: [u => drawBands(u, this.entry.flow)],
        draw: [u => this.drawn(u)],
        setCursor: [u => this.values(u)],
        setSelect: [u => this.selected(u)],
      },
    };
  }

  vertical() { return {}; }

  selected(u) {
    if (u.select.width < 3) return;
    const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (view.isZooming) return; // the other plots have the same part selected, of a time that is another by now
    view.isZooming = true;
    queueMicrotask(() => { view.isZooming = false; });
    zoom(from, to);
  }

  // A part of the legend: a press hides it, in all plots if it is a flow.
  key(label, colour, keys, dash) {
    const isOff = keys.every(key => view.hidden.has(key));
    const value = made("b"), swatch = made("i", { style: `border-top: 3px ${dash ? "dashed" : "solid"} ${colour}` });
    const pressed = () => {
      for (const key of keys) if (isOff) view.hidden.delete(key); else view.hidden.add(key);
      changed();
    };
    const button = made("button", { type: "button", "aria-pressed": String(!isOff), onclick: pressed }, swatch, label, value);
    this.legend.append(button);
    return value;
  }
}

class LinesPlot extends Plot {
  get isTogether() { return view.byController && !this.entry.isGrouped && this.entry.of !== "links"; }

  async read() {
    const { entry } = this;
    this.lines = await Promise.all(entry.lines.map(async line => ({
      ...line, kind: entry.of, times: await column(line.x), values: await column(line.y),
      spread: line.spread === undefined ? null : await column(line.spread),
    })));
    this.capacity = await Promise.all((entry.capacity || []).map(async one => ({ times: await column(one.x), values: await column(one.y) })));
    this.grid = union(this.lines.map(line => line.times));
  }

  get isInSegments() { return view.inSegments && this.entry.isWindow; }
  factorOf(line) { return this.isInSegments ? 1 / (line.flow >= 0 ? content.flows[line.flow].mss : 1448) : this.entry.factor; }
  valuesOf(line) { return view.isSpread && line.spread ? line.spread : line.values; }
  label() { return `${this.entry.quantity} (${this.isInSegments ? "segments" : this.entry.unit})`; }

  // Of flows by controller: one line each, the total of rates, the mean of all else.
  sums() {
    if (!this.isTogether) return [];
    const main = this.lines.filter(line => line.flow >= 0 && !line.isReference && line.style !== "dots" && !view.hidden.has(keyOf(line)));
    return controllers.map(name => ({ name, of: main.filter(line => content.flows[line.flow].controller === name) })).filter(sum => sum.of.length);
  }

  data() {
    const rows = this.lines.map(line => onto(this.grid, line.times, this.valuesOf(line), this.factorOf(line)));
    for (const sum of this.sums()) {
      const scaled = sum.of.map(line => ({ times: line.times, values: this.valuesOf(line).map(value => value * this.factorOf(line)) }));
      rows.push(together(this.grid, scaled, this.entry.isRate));
    }
    if (!this.entry.isRate || this.entry.isGrouped) return [this.grid, ...rows];
    const shown = placeOf(this.grid, view.to) - placeOf(this.grid, view.from);
    return averaged(this.grid, rows, Math.ceil((shown * PIXELS_A_SAMPLE) / this.width));
  }

  colour(line) { return line.flow >= 0 ? colourOfFlow(line.flow) : colourAt(line.group); }

  series() {
    const sums = this.sums();
    const lines = this.lines.map(line => this.line(line, sums.length > 0));
    return [...lines, ...sums.map(sum => ({ stroke: colourOfController(sum.name), width: 2.5, points: { show: false } }))];
  }

  line(line, isBehind) {
    const colour = this.colour(line), isDots = line.style === "dots";
    const isThin = isBehind || line.isThin;
    return {
      show: !view.hidden.has(keyOf(line)) && !(isBehind && (line.isReference || isDots)),
      auto: !line.isReference,
      stroke: isThin ? `${colour}66` : colour,
      width: isThin ? 0.8 : line.isReference ? 1 : 1.6,
      dash: line.style === "dash" ? [2, 4] : view.byController ? [] : dashAt(line.flow >= 0 ? line.flow : line.group),
      paths: isDots ? () => null : undefined,
      points: isDots ? { show: true, size: 2.5, fill: `${colour}66`, width: 0 } : { show: false },
    };
  }

  range(low, high) {
    let top = (high || 0) * 1.08 || 1;
    const capacity = this.capacity.reduce((most, one) => Math.max(most, ...one.values), 0) * this.entry.factor;
    if (capacity && top > 0.6 * capacity) top = Math.max(Math.min(top, 1.25 * capacity), 1.06 * capacity);
    return [0, top];
  }

  drawn(u) {
    this.drawCapacity(u);
    if (this.entry.of !== "flows" || this.entry.isGrouped) return;
    const isWindow = this.entry.key === "cwnd";
    const heightOf = i => u.valToPos(moments.before[i] * this.factorOf({ flow: moments.flow[i] }), "y", true);
    drawMarks(u, isWindow ? i => Math.max(u.bbox.top + 4, heightOf(i)) : null);
  }

  drawCapacity(u) {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    ctx.strokeStyle = css("--soft"); ctx.setLineDash([6, 5]); ctx.lineWidth = 1.3 * devicePixelRatio;
    for (const { times, values } of this.capacity) {
      ctx.beginPath();
      times.forEach((time, i) => {
        const x = u.valToPos(time, "x", true), y = u.valToPos(values[i] * this.entry.factor, "y", true);
        if (i) ctx.lineTo(x, u.valToPos(values[i - 1] * this.entry.factor, "y", true));
        ctx.lineTo(x, y);
      });
      ctx.stroke();
    }
    ctx.restore();
  }

  // The legend: a flow or link each, or a controller each.
  fill() {
    this.legend.replaceChildren();
    this.shown = [];
    if (this.isTogether) {
      const count = this.lines.length;
      this.sums().forEach((sum, i) => this.shown.push([this.key(this.said(sum), colourOfController(sum.name), this.keysOf(sum.name)), count + i + 1]));
      for (const name of controllers) if (!this.sums().some(sum => sum.name === name)) this.key(name, colourOfController(name), this.keysOf(name));
    } else {
      this.lines.forEach((line, i) => {
        if (line.isReference || line.style === "dots" || line.isThin) return;
        const isDashed = !view.byController && dashAt(line.flow >= 0 ? line.flow : line.group).length > 0;
        this.shown.push([this.key(this.nameOf(line), this.colour(line), [keyOf(line)], isDashed || line.style === "dash"), i + 1]);
      });
    }
    if (this.capacity.length) this.legend.append(made("span", {}, made("i", { style: "border-top: 2px dashed var(--soft)" }), "capacity"));
    const notes = [...new Set(this.lines.filter(line => line.isReference).map(line => line.column))];
    if (notes.length && !this.isTogether) this.legend.append(made("span", {}, `dotted: ${notes.join(", ")}`));
  }

  keysOf(controller) {
    return content.flows.flatMap((flow, place) => (flow.controller === controller ? [`flow ${place}`] : []));
  }

  nameOf(line) { return line.flow >= 0 ? content.flows[line.flow].label : this.entry.isGrouped ? line.label : line.who; }

  said(sum) {
    const what = sum.of.length === 1 ? "" : `, ${this.entry.isRate ? "total" : "mean"} of ${sum.of.length}`;
    return `${sum.name}${what}`;
  }

  values(u) {
    const at = u.cursor.idx;
    for (const [value, place] of this.shown) value.textContent = at == null ? "" : ` ${number(u.data[place][at])}`;
    if (u.cursor.event && u.cursor.left >= 0) {
      const time = u.posToVal(u.cursor.left, "x");
      said(momentAt(time, 3 * (view.to - view.from) / u.width) || `${number(time)} s`);
    }
  }
}
