// Four plots over the same time, by uPlot: what is dragged over in one is shown by all.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "./series";

export interface Look { ink: string; grid: string; colors: string[] }

// Okabe and Ito's colours, which the colour-blind tell apart, lighter or darker by what they stand on.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56a0c9", "#7a5195", "#555555"];
const DARK = ["#56b4e9", "#ff9f4a", "#3fd6a8", "#e79ac5", "#f0e442", "#9ad1f5", "#b892dd", "#bbbbbb"];

export const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;
export function look(): Look {
  const style = getComputedStyle(document.documentElement);
  return { ink: style.getPropertyValue("--faint"), grid: style.getPropertyValue("--grid"), colors: isDark() ? DARK : LIGHT };
}
export const colorOf = (index: number): string => { const { colors } = look(); return colors[index % colors.length]!; };

const HEIGHT = 190;
type Pick = (series: Series) => (number | null)[][];

export class Plots {
  private charts: { chart: uPlot; pick: Pick }[] = [];
  private duration_s = 1;
  /** What part of the time is shown; all that has passed if it is nothing. */
  window: [number, number] | null = null;

  constructor(private readonly places: Record<string, HTMLElement>) {
    new ResizeObserver(() => this.resize()).observe(places.cwnd!);
  }

  begin(names: string[], link: number, duration_s: number): void {
    for (const { chart } of this.charts) chart.destroy();
    this.duration_s = duration_s;
    this.window = null;
    const flows = names.map((name, index) => ({ label: name, stroke: colorOf(index), width: 1.25, points: { show: false } }));
    const queue = [{ label: "packets", stroke: colorOf(0), fill: colorOf(0) + "33", width: 1.25, points: { show: false } }];
    this.charts = [
      this.chart("cwnd", flows, (series) => series.flows.map((flow) => flow.cwnd)),
      this.chart("goodput", flows, (series) => series.flows.map((flow) => flow.goodput)),
      this.chart("srtt", flows, (series) => series.flows.map((flow) => flow.srtt)),
      this.chart("queue", queue, (series) => [series.queues[link] ?? []]),
    ];
  }

  private chart(place: string, series: uPlot.Series[], pick: Pick): { chart: uPlot; pick: Pick } {
    const { ink, grid } = look();
    const axis = (size: number): uPlot.Axis => ({ stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, size, font: "11px system-ui" });
    const chart = new uPlot({
      width: Math.max(this.places[place]!.clientWidth, 100), height: HEIGHT, legend: { show: false }, padding: [8, 8, 0, 0],
      scales: { x: { time: false, range: () => this.range() }, y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
      axes: [axis(26), axis(46)],
      series: [{}, ...series],
      cursor: { sync: { key: "studio" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      hooks: { setSelect: [(plot) => this.select(plot)], init: [(plot) => plot.over.addEventListener("dblclick", () => this.show(null))] },
    }, [[], ...series.map(() => [])] as any, this.places[place]!);
    return { chart, pick };
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
  }

  private range(): [number, number] {
    return this.window ?? [0, this.duration_s];
  }

  draw(series: Series): void {
    for (const { chart, pick } of this.charts) chart.setData([series.time, ...pick(series)] as any, true);
  }

  private resize(): void {
    for (const { chart } of this.charts) {
      const width = chart.root.parentElement!.clientWidth;
      if (width > 0 && width !== chart.width) chart.setSize({ width, height: HEIGHT });
    }
  }
}
