// Plots that are not over time: distributions, and slowdown over size.
class CurvesPlot extends Plot {
  async read() {}
  get lines() { return this.entry.lines.filter(line => !view.hidden.has(`${this.entry.key} ${line.label}`)); }
  zoomed() {}

  data() {
    const xs = this.lines.map(line => Float64Array.from(line.x)), grid = xs.length ? union(xs) : [0, 1];
    return [grid, ...this.lines.map((line, i) => this.entry.isLog ? onto(grid, xs[i], line.y, 1) : this.stepped(grid, line))];
  }

  // The share of samples that are no greater, at every value of any line.
  stepped(grid, line) {
    return Array.from(grid, value => {
      const at = placeOf(line.x, value);
      return at < line.x.length && line.x[at] === value ? line.y[at] : at ? line.y[at - 1] : 0;
    });
  }

  options() {
    const found = super.options(), { entry } = this;
    found.scales = entry.isLog
      ? { x: { time: false, distr: 3 }, y: { distr: 3 } }
      : { x: { time: false }, y: { range: [0, 1] } };
    found.axes[0].label = entry.axis;
    found.cursor = { drag: { x: true, y: false } };
    found.hooks = { setCursor: found.hooks.setCursor };
    return found;
  }

  label() { return this.entry.isLog ? this.entry.vertical : "share of samples"; }
  range() { return [0, 1]; }
  drawn() {}

  series() {
    return this.lines.map(line => {
      const place = this.entry.lines.indexOf(line), paths = uPlot.paths.stepped({ align: 1 });
      return { stroke: colourAt(line.group ?? place), width: 1.6, dash: line.isDashed ? [3, 3] : dashAt(line.group ?? place), points: { show: false }, spanGaps: true, ...(this.entry.isLog ? {} : { paths }) };
    });
  }

  fill() {
    this.legend.replaceChildren();
    this.shown = this.entry.lines.map((line, place) => {
      const group = line.group ?? place;
      return [this.key(line.label, colourAt(group), [`${this.entry.key} ${line.label}`], line.isDashed || dashAt(group).length > 0), line];
    });
    this.at = made("span");
    this.legend.append(this.at);
  }

  values(u) {
    const { idx } = u.cursor;
    this.lines.forEach((line, i) => {
      const value = idx == null ? null : u.data[i + 1][idx];
      const text = value == null ? "" : this.entry.isLog ? ` ${number(value)}` : ` ${(100 * value).toFixed(1)} %`;
      this.shown.find(([, one]) => one === line)[0].textContent = text;
    });
    this.at.textContent = idx == null ? "" : `at ${number(u.data[0][idx])}`;
  }
}
