// The page: what is on it, and what it says to the worker.
import "./style.css";
import examples from "./examples.gen.json";
import { Form } from "./form";
import { type Knob, Knobs } from "./knobs";
import type { Checked, Diagnostic, FromWorker, Progress, ScenarioInfo, ToWorker } from "./messages";
import { Network } from "./network";
import { linksAt } from "./links";
import { FIRST, type Path, edit, fromText } from "./path";
import { Plots, colorOf } from "./plots";
import { Sequence } from "./sequence";
import { Series } from "./series";
import { fromFragment, fromServer, readable, toFragment } from "./share";

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const select = (id: string) => element<HTMLSelectElement>(id);
const box = element<HTMLInputElement>("packets");
const text = element<HTMLTextAreaElement>("text");

const ROWS = 3000; // of series, over the whole of a run
const DRAG_MS = 80; // between two changes of a slider that is dragged
const PLOTS_MS = 50; // between two drawings of the plots; packets move at every frame

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const say = (message: ToWorker): void => worker.postMessage(message);

const series = new Series();
const network = new Network(element("network"));
const sequence = new Sequence(element("sequence"));
const plots = new Plots({ cwnd: element("cwnd"), goodput: element("goodput"), srtt: element("srtt"), queue: element("queue") });

let files: Record<string, Uint8Array> = {};
let scenario: ScenarioInfo | null = null;
let checks = 0;
let checked_s = 60; // how long the scenario of the text is
let isRunning = false;
let isStale = true; // the text is not what is loaded
let runsWhenLoaded = false;
let progress: Progress = { now_s: 0, is_finished: false, events: 0, packets_delivered: 0 };
let cost_s = 0;
let isDrawn = false;
let hasChanges = false;
let onEnd: () => void = () => {};
let onWrong: (reason: Error) => void = () => {};
let wanted: ((bytes: Uint8Array) => void) | null = null;

const form = new Form((path) => {
  const after = edit(text.value, path);
  if (after === null) notice("The form cannot write this into the text as it stands: change it there.");
  setText(after ?? text.value);
});
const knobs = new Knobs((knob, path) => {
  if (isStale || progress.now_s === 0) {
    const after = path && says(path) ? edit(text.value, path) : null;
    if (after !== null) setText(after);
    return after !== null;
  }
  dragged.add(knob);
  dragging ??= setTimeout(sendChanges, DRAG_MS);
  return true;
});

/** Whether the text has these values as a form can; a limit in octets becomes one in packets. */
function says(path: Partial<Path>): boolean {
  const shown = fromText(text.value);
  return shown !== null && (Object.keys(path) as (keyof Path)[]).every((name) => shown[name] !== null || name === "limit_packets");
}

const dragged = new Set<Knob>();
let dragging: ReturnType<typeof setTimeout> | undefined;
let unanswered = 0;

/** The links as they are now, unless a slider has said what they have not heard of yet. */
function follow(): void {
  if (!scenario || dragged.size > 0 || unanswered > 0) return;
  const links = linksAt(scenario, progress.now_s);
  network.follow(links);
  knobs.follow(links);
}

/** Each change is a part of the scenario: of a drag as many as can be told apart. */
function sendChanges(): void {
  dragging = undefined;
  const changes = [...dragged].flatMap((knob) => knobs.changes(knob));
  dragged.clear();
  unanswered += 1;
  say({ kind: "change", changes });
}

// ---- the text -------------------------------------------------------------------------------------------------------

function setText(value: string): void {
  text.value = value;
  textChanged();
}

let waiting: ReturnType<typeof setTimeout> | undefined;

function textChanged(): void {
  isStale = true;
  hasChanges = false;
  const path = fromText(text.value);
  form.show(path);
  clearTimeout(waiting);
  waiting = setTimeout(() => say({ kind: "check", text: text.value, number: ++checks }), 150);
}

function showMistakes(diagnostics: Diagnostic[] | undefined): void {
  const told = (mistake: Diagnostic): string => {
    const place = mistake.line === null ? "" : `line ${mistake.line}: `;
    const marks = mistake.source_line === null ? "" : `\n    ${mistake.source_line}\n    ${mistake.marks ?? ""}`;
    return `${place}${mistake.field} ${mistake.message}${marks}${mistake.remedy ? `\n  remedy: ${mistake.remedy}` : ""}`;
  };
  element("mistakes").replaceChildren(...(diagnostics ?? []).map((mistake) => {
    const shown = document.createElement("pre");
    shown.textContent = told(mistake);
    return shown;
  }));
}

// ---- the run --------------------------------------------------------------------------------------------------------

function load(thenRun: boolean): void {
  runsWhenLoaded = thenRun;
  setRunning(false);
  say({ kind: "load", text: text.value, sample_s: Math.max(checked_s / ROWS, 1e-4), packets: box.checked });
}

function begin({ scenario: loaded, row, diagnostics }: Checked): void {
  showMistakes(diagnostics);
  if (!loaded || !row) {
    onWrong(new Error(JSON.stringify(diagnostics)));
    return notice("The scenario has mistakes; they are below its text.");
  }
  notice("");
  [scenario, isStale, cost_s, hasChanges] = [loaded, false, 0, false];
  progress = { now_s: 0, is_finished: false, events: 0, packets_delivered: 0 };
  series.begin(loaded, row);
  network.begin(loaded);
  knobs.begin(linksAt(loaded, 0));
  options(select("sequenceFlow"), loaded.flows.map((flow) => flow.name), select("sequenceFlow").value);
  sequence.begin(Math.max(select("sequenceFlow").selectedIndex, 0));
  plots.begin(loaded.flows.slice(0, row.flows).map((flow) => flow.name), knobs.link, loaded.duration_s);
  isDrawn = false;
  if (runsWhenLoaded) setRunning(true);
}

function setRunning(wantedNow: boolean): void {
  isRunning = wantedNow;
  element("run").textContent = wantedNow ? "Pause" : "Run";
  if (wantedNow) say({ kind: "play", speed: Number(select("speed").value) });
  else say({ kind: "pause" });
}

function toggle(): void {
  if (isRunning) setRunning(false);
  else if (isStale || progress.is_finished) load(true);
  else setRunning(true);
}

function step(): void {
  if (isRunning) setRunning(false);
  const seconds = Math.max(Number(select("speed").value) === Infinity ? 1 : Number(select("speed").value) / 20, 1e-4);
  if (isStale) return load(false);
  say({ kind: "step", seconds });
}

function onSlice(message: Extract<FromWorker, { kind: "slice" }>): void {
  if (message.anew && scenario) {
    series.begin(scenario, { numbers: 1 + 7 * series.flows.length + 5 * series.queues.length, flows: series.flows.length, links: series.queues.length });
    network.forget();
    sequence.begin(Math.max(select("sequenceFlow").selectedIndex, 0));
  }
  progress = message.progress;
  cost_s += message.cost_s;
  follow();
  series.add(message.rows);
  if (scenario) network.add(message.packets, progress.now_s);
  sequence.add(message.packets);
  isDrawn = false;
  if (progress.is_finished) {
    setRunning(false);
    onEnd();
  }
}

function onChanged(message: Extract<FromWorker, { kind: "changed" }>): void {
  unanswered -= 1;
  if (message.diagnostics) return notice(message.diagnostics.map((mistake) => `${mistake.field} ${mistake.message}; ${mistake.remedy}`).join(". "));
  notice("");
  hasChanges = true;
  text.value = message.text;
  scenario = message.scenario ?? scenario;
}

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  switch (data.kind) {
    case "ready": return start(data.catalogue);
    case "checked":
      if (data.number === checks && isStale) {
        showMistakes(data.checked.diagnostics);
        checked_s = data.checked.scenario?.duration_s ?? checked_s;
        if (data.checked.scenario && progress.now_s === 0) load(false);
      }
      return;
    case "loaded": return begin(data.checked);
    case "slice": return onSlice(data);
    case "changed": return onChanged(data);
    case "summary": wanted?.(data.bytes); wanted = null; return;
    case "failed":
      unanswered = 0;
      isRunning = false;
      element("run").textContent = "Run";
      onWrong(new Error(data.message));
      return notice(data.message);
  }
};
worker.onerror = (event) => notice(`the worker failed: ${event.message}`);

// ---- drawing --------------------------------------------------------------------------------------------------------

let plotted_ms = 0;
let frames = 0;

function frame(wall_ms: number): void {
  frames += 1;
  network.draw(progress.now_s, series);
  if (!isDrawn && wall_ms - plotted_ms > PLOTS_MS) {
    plotted_ms = wall_ms;
    isDrawn = true;
    plots.draw(series);
    sequence.draw(progress.now_s, plots.window, box.checked);
    showNumbers();
  }
  requestAnimationFrame(frame);
}

function showNumbers(): void {
  const { now_s, packets_delivered } = progress;
  const speed = cost_s > 0.2 ? ` · ${(packets_delivered / cost_s / 1e6).toFixed(2)} M packets/s` : "";
  element("clock").textContent = `${now_s.toFixed(3)} of ${scenario?.duration_s ?? 0} s${speed}`;
  element<HTMLProgressElement>("progress").value = scenario ? now_s / scenario.duration_s : 0;
  const head = "<tr><th>flow</th><th>cwnd, kB</th><th>in flight, kB</th><th>srtt, ms</th><th>goodput, Mbit/s</th><th>sent again</th></tr>";
  const number = (value: number | undefined, scale: number) => (value === undefined || Number.isNaN(value) ? "–" : (value * scale).toFixed(2));
  const rows = series.flows.map(({ latest }, index) => {
    const row = document.createElement("tr");
    const [cwnd, , flight, srtt, , goodput, again] = latest;
    const name = document.createElement("td");
    const mark = document.createElement("i");
    mark.style.background = colorOf(index);
    name.append(mark, scenario?.flows[index]?.name ?? "");
    const cells = [number(cwnd, 1e-3), number(flight, 1e-3), number(srtt, 1e3), number(goodput, 1e-6), again === undefined ? "–" : String(again)];
    row.append(name, ...cells.map((value) => Object.assign(document.createElement("td"), { textContent: value })));
    return row;
  });
  const table = element("table");
  table.innerHTML = head;
  table.append(...rows);
}

// ---- files, links ---------------------------------------------------------------------------------------------------

function notice(message: string): void {
  element("notice").textContent = message;
  element("notice").hidden = message === "";
}

function download(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const save = (): void => download(`${scenario?.name ?? "scenario"}.toml`, text.value, "application/toml");
const summary = (): Promise<Uint8Array> => new Promise((resolve) => { wanted = resolve; say({ kind: "summary" }); });

async function open(chosen: FileList): Promise<void> {
  let main: string | null = null;
  for (const file of chosen) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (/\.(toml|json)$/.test(file.name) && main === null) main = readable(new TextDecoder().decode(bytes));
    else { files[file.name] = bytes; files[`traces/${file.name}`] = bytes; }
  }
  say({ kind: "files", files });
  if (main !== null) take(main); else textChanged();
}

/** A scenario from elsewhere begins anew. */
function take(scenarioText: string): void {
  setRunning(false);
  progress = { ...progress, now_s: 0, is_finished: false };
  setText(scenarioText);
}

async function share(): Promise<void> {
  const used = Object.fromEntries(Object.entries(files).filter(([name]) => text.value.includes(name)));
  const address = location.href.split("#")[0] + (await toFragment({ text: text.value, files: used }));
  history.replaceState(null, "", address);
  const isCopied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
  notice(`${isCopied ? "Copied" : "In the address bar"}: an address of ${address.length} characters that holds the scenario.`);
}

function openExample(name: string): void {
  if (!name) return;
  for (const [file, content] of Object.entries<string>(examples.files)) files[file] = new TextEncoder().encode(content);
  say({ kind: "files", files });
  take((examples.texts as Record<string, string>)[name]!);
}

function options(of: HTMLSelectElement, values: string[], chosen: string): void {
  of.replaceChildren(...values.map((value) => new Option(value, value, false, value === chosen)));
}

// ---- beginning ------------------------------------------------------------------------------------------------------

async function start(catalogue: any): Promise<void> {
  form.begin(catalogue);
  select("examples").append(...Object.keys(examples.texts).map((name) => new Option(name, name)));
  const shared = (await fromFragment(location.hash).catch(() => null)) ?? (location.hash ? null : await fromServer());
  if (location.hash && !shared) notice("The address holds no scenario that can be read; this is the studio's own.");
  files = shared?.files ?? {};
  element("recorded").hidden = !shared?.isRecorded;
  say({ kind: "files", files });
  setText(shared?.text ?? FIRST);
  requestAnimationFrame(frame);
}

const actions: Record<string, () => void> = {
  run: toggle, step, restart: () => load(isRunning), open: () => element("chooser").click(), save, share: () => void share(),
  results: () => void summary().then((bytes) => download("summary.json", bytes as BlobPart, "application/json")),
  help: () => element<HTMLDialogElement>("keys").showModal(),
};
for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);

const bySpeed = (more: number): void => {
  const speeds = select("speed");
  speeds.selectedIndex = Math.min(Math.max(speeds.selectedIndex + more, 0), speeds.options.length - 1);
  speeds.dispatchEvent(new Event("change"));
};
const keys: Record<string, () => void> = {
  " ": toggle, ".": step, r: actions.restart!, "+": () => bySpeed(1), "-": () => bySpeed(-1), o: actions.open!, s: save, l: actions.share!,
  p: () => box.click(), "?": actions.help!,
};
document.addEventListener("keydown", (event) => {
  const isTyped = (event.target as HTMLElement).closest("textarea, select, input:not([type=range]):not([type=checkbox]), button, dialog");
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || (isTyped && !(event.key !== " " && isTyped.matches("button, select")))) return;
  event.preventDefault();
  act();
});

text.addEventListener("input", textChanged);
select("speed").addEventListener("change", () => { if (isRunning) say({ kind: "play", speed: Number(select("speed").value) }); });
box.addEventListener("change", () => { if (!isStale) load(isRunning); });
select("examples").addEventListener("change", () => { openExample(select("examples").value); select("examples").value = ""; });
select("sequenceFlow").addEventListener("change", () => { sequence.begin(select("sequenceFlow").selectedIndex); isDrawn = false; });
knobs.onLink = (link) => {
  if (!scenario) return;
  plots.begin(scenario.flows.slice(0, series.flows.length).map((flow) => flow.name), link, scenario.duration_s);
  isDrawn = false;
};
element<HTMLInputElement>("chooser").addEventListener("change", (event) => {
  const chooser = event.target as HTMLInputElement;
  void open(chooser.files!).then(() => { chooser.value = ""; });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => knobs.onLink(knobs.link));
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer?.files.length) void open(event.dataTransfer.files); });

/** A whole run, as fast as it goes: the bytes of summary.json, and what it took. */
async function whole(scenarioText: string, given: Record<string, Uint8Array> = {}, watched = false): Promise<unknown> {
  [files, box.checked, select("speed").value] = [given, watched, "Infinity"];
  say({ kind: "files", files });
  text.value = scenarioText;
  progress = { ...progress, is_finished: false };
  const ended = new Promise<void>((resolve, reject) => { [onEnd, onWrong] = [resolve, reject]; });
  load(true);
  await ended;
  return { summary: new TextDecoder().decode(await summary()), cost_s, packets: progress.packets_delivered, events: progress.events };
}

/** For tests and the console: what the page knows. */
(globalThis as any).studio = {
  state: () => ({ ...progress, isRunning, isStale, hasChanges, cost_s, frames, text: text.value }), take, whole,
  summary: async () => new TextDecoder().decode(await summary()),
};
