// Series of a folder of results, which `ackclock studio DIR` serves: at first a few rows of all the time, then the least and the
// greatest value of each part of it (python/ackclock/results/overviews.py). What is dragged over in one plot is shown by all.
import uPlot from "uplot";
import { colorOf, look } from "./plots";

interface Table { columns: string[]; rows: number; begin_s: number; end_s: number }
interface About { folder: string; name: string; tables: Record<string, Table> }
interface Looked { time_s: number[]; series: Record<string, Record<string, (number | null)[]>>; is_exact: boolean }
interface Shown { table: string; column: string; chart: uPlot | null; looked: Looked | null; place: HTMLElement }

const FIRST: Record<string, string[]> = {
  flows: ["cwnd_bytes", "goodput_bps", "srtt_s", "rtt_sample_s"], links: ["queue_packets", "throughput_bps"], media: ["target_bps", "received_bps"],
};
// By the unit at the end of a column's name.
const UNITS: [string, string, number][] = [["_bytes", "kB", 1e-3], ["_bps", "Mbit/s", 1e-6], ["_s", "ms", 1e3]];
const HEIGHT = 220;
const NAMES_AT_FIRST = 8;

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
let about: About;
let shown: Shown[] = [];
let window_s: [number, number] = [0, 1];
const names: string[] = [];
const chosen = new Set<string>();
let asked = 0;

function unit(column: string): { label: string; scale: number } {
  const found = UNITS.find(([ending]) => column.endsWith(ending));
  const words = (found ? column.slice(0, -found[0].length) : column).replaceAll("_", " ");
  return found ? { label: `${words}, ${found[1]}`, scale: found[2] } : { label: words, scale: 1 };
}

async function ask<T>(place: string): Promise<T> {
  const response = await fetch(place);
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { isOld: response.status === 409 });
  return answer;
}

/** A quick look at each table, then every row of it; what comes after the next question is thrown away. */
async function read(): Promise<void> {
  const number = ++asked;
  const parts = Math.max(Math.min(element("views").clientWidth, 1500), 300);
  const tables = [...new Set(shown.map((one) => one.table))];
  const question = (table: string) => {
    const columns = shown.filter((one) => one.table === table).map((one) => one.column).join(",");
    return new URLSearchParams({ table, columns, from: String(window_s[0]), to: String(window_s[1]), parts: String(Math.round(parts / 2)) });
  };
  const take = (table: string, looked: Looked): void => {
    if (number !== asked) return;
    for (const one of shown) if (one.table === table) draw(one, looked);
  };
  element("state").textContent = "Reading.";
  const exact = new Map<string, boolean>();
  for (const table of tables) {
    const looked = await ask<Looked>(`recorded/first.json?${question(table)}`);
    exact.set(table, looked.is_exact);
    take(table, looked);
  }
  for (const table of tables) {
    if (number !== asked) return;
    if (!exact.get(table)) take(table, await ask<Looked>(`recorded/whole.json?${question(table)}`));
  }
  if (number === asked) element("state").textContent = "";
}

function again(): void {
  read().catch((error) => { if (!error.isOld) notice(String(error.message ?? error)); });
}

function draw(one: Shown, looked: Looked): void {
  one.looked = looked;
  const columns = looked.series[one.column] ?? {};
  for (const name of Object.keys(columns)) meet(name);
  const wanted = names.filter((name) => chosen.has(name) && columns[name]);
  const { label, scale } = unit(one.column);
  const caption = one.place.previousElementSibling as HTMLElement;
  caption.textContent = looked.is_exact ? label : `${label} (a first look)`;
  const { ink, grid } = look();
  const axis = (size: number): uPlot.Axis => ({ stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, size, font: "11px system-ui" });
  one.chart?.destroy();
  const series = wanted.map((name) => ({ label: name, stroke: colorOf(names.indexOf(name)), width: 1.25, spanGaps: true, points: { show: false } }));
  const data = wanted.map((name) => columns[name]!.map((value) => (value === null ? null : value * scale)));
  one.chart = new uPlot({
    width: Math.max(one.place.clientWidth, 100), height: HEIGHT, legend: { show: false }, padding: [8, 8, 0, 0],
    scales: { x: { time: false, range: () => window_s }, y: { range: (_plot, min, max) => [Math.min(min ?? 0, 0), max > 0 ? max * 1.08 : 1] } },
    axes: [axis(26), axis(52)], series: [{}, ...series],
    cursor: { sync: { key: "results" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
    hooks: { setSelect: [select], init: [(plot) => plot.over.addEventListener("dblclick", () => zoom(null))] },
  }, [looked.time_s, ...data] as any, one.place);
  if (wanted.length === 0) caption.textContent = `${label}: none of what is chosen`;
}

function select(plot: uPlot): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  zoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
}

function zoom(window: [number, number] | null): void {
  window_s = window ?? whole();
  again();
}

function whole(): [number, number] {
  const tables = Object.values(about.tables).filter((table) => table.rows > 0);
  const [begin, end] = [Math.min(...tables.map((table) => table.begin_s)), Math.max(...tables.map((table) => table.end_s))];
  return begin < end ? [begin, end] : [0, 1];
}

// ---- what is shown --------------------------------------------------------------------------------------------------

function box(text: string, isOn: boolean, change: (isOn: boolean) => void, color?: string): HTMLElement {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "checkbox", checked: isOn });
  input.addEventListener("change", () => change(input.checked));
  label.append(input);
  if (color) { const mark = document.createElement("i"); mark.style.background = color; label.append(mark); }
  label.append(text);
  return label;
}

/** A flow or link that has rows. */
function meet(name: string): void {
  if (names.includes(name)) return;
  names.push(name);
  if (names.length <= NAMES_AT_FIRST) chosen.add(name);
  const change = (isOn: boolean): void => {
    if (isOn) chosen.add(name); else chosen.delete(name);
    for (const one of shown) if (one.looked) draw(one, one.looked);
  };
  element("names").append(box(name, chosen.has(name), change, colorOf(names.length - 1)));
}

function show(table: string, column: string): void {
  const figure = document.createElement("figure");
  const place = document.createElement("div");
  place.style.minHeight = `${HEIGHT}px`;
  figure.append(Object.assign(document.createElement("figcaption"), { textContent: unit(column).label }), place);
  element("views").append(figure);
  shown.push({ table, column, chart: null, looked: null, place });
}

function hide(table: string, column: string): void {
  for (const one of shown) if (one.table === table && one.column === column) one.place.parentElement!.remove();
  shown = shown.filter((one) => one.table !== table || one.column !== column);
}

function notice(message: string): void {
  element("notice").textContent = message;
  element("notice").hidden = message === "";
}

async function start(): Promise<void> {
  about = await ask<About>("recorded/about.json");
  const rows = Object.values(about.tables).reduce((sum, table) => sum + table.rows, 0);
  element("about").textContent = `${about.name || about.folder} · ${rows.toLocaleString("en")} rows`;
  document.title = `${about.folder}: ackclock studio`;
  for (const [table, { columns }] of Object.entries(about.tables)) {
    for (const column of columns) {
      const isOn = FIRST[table]?.includes(column) ?? false;
      if (isOn) show(table, column);
      const change = (on: boolean): void => { if (on) show(table, column); else hide(table, column); again(); };
      element("columns").append(box(`${table}: ${unit(column).label}`, isOn, change));
    }
  }
  window_s = whole();
  again();
}

element("all").addEventListener("click", () => zoom(null));
new ResizeObserver(() => {
  for (const { chart, place } of shown) if (chart && place.clientWidth > 0 && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: HEIGHT });
}).observe(element("views"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const one of shown) if (one.looked) draw(one, one.looked); });
start().catch((error) => notice(`The folder cannot be read: ${error.message ?? error}. Open it with ackclock studio DIR.`));
