// Four plots over the same time, by uPlot: what is dragged over in one is shown by all. Runs that are kept are drawn behind.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { KeptRun } from "./comparison";
import { type Line, greatest, thinned } from "./lines";
import type { Series } from "./series";

export interface Look { ink: string; grid: string; panel: string; colors: string[] }

// Okabe and Ito's colours, which the colour-blind tell apart, lighter or darker by what they stand on.
export const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56a0c9", "#7a5195", "#555555"];
const DARK = ["#56b4e9", "#ff9f4a", "#3fd6a8", "#e79ac5", "#f0e442", "#9ad1f5", "#b892dd", "#bbbbbb"];

export const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;
export function look(): Look {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name);
  return { ink: of("--faint"), grid: of("--grid"), panel: of("--panel"), colors: isDark() ? DARK : LIGHT };
}
export const colorOf = (index: number): string => { const { colors } = look(); return colors[index % colors.length]!; };

const HEIGHT = 190;
const FAINT = 0.6;

/** What each plot shows. */
export const PLOTS = {
  cwnd: "congestion window (segments)", goodput: "goodput (Mbit/s)", srtt: "smoothed round trip (ms)", queue: "queue (packets)",
} as const;
export type Plot = keyof typeof PLOTS;

interface Chart { chart: uPlot; plot: Plot }

export class Plots {
  private charts: Chart[] = [];
  private duration_s = 1;
  private names: string[] = [];
  private link = { index: 0, name: "" };
  private kept: KeptRun[] = [];
  private series: Series | null = null;
  /** What part of the time is shown; all that has passed if it is nothing. */
  window: [number, number] | null = null;

  /** `onWindow` hears that another part of the time is shown. */
  constructor(private readonly places: Record<Plot, HTMLElement>, private readonly onWindow: () => void) {
    new ResizeObserver(() => this.resize()).observe(places.cwnd!);
  }

  begin(names: string[], link: { index: number; name: string }, duration_s: number): void {
    for (const { chart } of this.charts) chart.destroy();
    [this.names, this.link, this.duration_s, this.window] = [names, link, duration_s, null];
    const flows = names.map((name, index) => ({ label: name, stroke: colorOf(index), width: 1.25, points: { show: false } }));
    const queue = [{ label: "packets", stroke: colorOf(0), fill: colorOf(0) + "33", width: 1.25, points: { show: false } }];
    this.charts = (Object.keys(PLOTS) as Plot[]).map((plot) => this.chart(plot, plot === "queue" ? queue : flows));
  }

  private chart(plot: Plot, series: uPlot.Series[]): Chart {
    const { ink, grid } = look();
    const axis = (size: number): uPlot.Axis => ({ stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, size, font: "11px system-ui" });
    const most = (max: number | null): number => Math.max(max ?? 0, greatest(this.linesOfKept(plot), this.range()));
    const chart = new uPlot({
      width: Math.max(this.places[plot].clientWidth, 100), height: HEIGHT, legend: { show: false }, padding: [8, 8, 0, 0],
      scales: { x: { time: false, range: () => this.range() }, y: { range: (_plot, _min, max) => [0, most(max) * 1.08 || 1] } },
      axes: [axis(26), axis(46)],
      series: [{}, ...series],
      cursor: { sync: { key: "studio" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      hooks: {
        setSelect: [(chart) => this.select(chart)], init: [(chart) => chart.over.addEventListener("dblclick", () => this.show(null))],
        drawAxes: [(chart) => this.drawKept(chart, plot)],
      },
    }, [[], ...series.map(() => [])] as any, this.places[plot]);
    return { chart, plot };
  }

  private select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    this.show([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  private show(window: [number, number] | null): void {
    this.window = window;
    for (const { chart } of this.charts) chart.redraw(true, true);
    for (const { chart } of this.charts) chart.setScale("x", { min: this.range()[0], max: this.range()[1] });
    this.onWindow();
  }

  /** The part of the time that is shown: of the longest run. */
  range(): [number, number] {
    return this.window ?? [0, Math.max(this.duration_s, ...this.kept.map((run) => run.now_s))];
  }

  draw(series: Series, kept: KeptRun[]): void {
    [this.series, this.kept] = [series, kept];
    for (const { chart, plot } of this.charts) chart.setData([series.time, ...this.columns(plot)] as any, true);
  }

  private columns(plot: Plot): (number | null)[][] {
    if (!this.series) return [];
    return plot === "queue" ? [this.series.queues[this.link.index] ?? []] : this.series.flows.map((flow) => flow[plot]);
  }

  private linesOfKept(plot: Plot): Line[] {
    return this.kept.flatMap(({ name: run, dash, time, flows, queues }) => {
      const line = (name: string, color: number, values: Line["values"]): Line => ({ run, name, color, dash, time, values });
      if (plot !== "queue") return flows.map((flow, index) => line(flow.name, index, flow[plot]));
      const queue = queues[this.link.name];
      return queue ? [line(this.link.name, 0, queue)] : [];
    });
  }

  /** Every line of a plot, those of kept runs first. */
  lines(plot: Plot): Line[] {
    const time = this.series?.time ?? [];
    const now = this.columns(plot).map((values, index): Line => (
      { run: "this run", name: plot === "queue" ? this.link.name : this.names[index]!, color: index, dash: [], time, values }
    ));
    return [...this.linesOfKept(plot), ...now];
  }

  private drawKept({ ctx, bbox, valToPos }: uPlot, plot: Plot): void {
    if (this.kept.length === 0) return;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = FAINT;
    ctx.lineWidth = 1.25 * ratio;
    for (const { color, dash, time, values } of this.linesOfKept(plot)) {
      ctx.strokeStyle = colorOf(color);
      ctx.setLineDash(dash.map((length) => length * ratio));
      ctx.beginPath();
      for (const part of thinned(time, values, this.range(), bbox.width)) {
        part.forEach(([at, value], index) => ctx[index === 0 ? "moveTo" : "lineTo"](valToPos(at, "x", true), valToPos(value, "y", true)));
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  /** The canvases of the plots, by name. */
  canvases(): [Plot, HTMLCanvasElement][] {
    return this.charts.map(({ plot, chart }) => [plot, chart.ctx.canvas]);
  }

  private resize(): void {
    for (const { chart } of this.charts) {
      const width = chart.root.parentElement!.clientWidth;
      if (width > 0 && width !== chart.width) chart.setSize({ width, height: HEIGHT });
    }
  }
}
