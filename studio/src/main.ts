// The page: what is on it, and what it says to the worker.
import "./style.css";
import examples from "./examples.gen.json";
import { Editor } from "./editor";
import { Form } from "./form";
import { Kept, MOST_KEPT, type Results, compared, difference } from "./comparison";
import { type Knob, Knobs } from "./knobs";
import { Legend } from "./legend";
import type { Checked, Diagnostic, FromWorker, Progress, ScenarioInfo, ToWorker } from "./messages";
import { Network } from "./network";
import { linksAt } from "./links";
import { FIRST, type Path, changesIn, edit, fromText, isAmong, nameOfRun, timesOf, withoutChanges } from "./path";
import { csv, fileName, png, svg, type Picture } from "./picture";
import { LIGHT, PLOTS, type Plot, Plots, colorOf, look } from "./plots";
import { Undo } from "./undo";
import { type Focused, isShortcut, isUndo } from "./shortcuts";
import { Sequence } from "./sequence";
import { Series } from "./series";
import { fromFragment, fromServer, isNamed, readable, toFragment, withoutScenario } from "./share";
import { Video } from "./video";

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const select = (id: string) => element<HTMLSelectElement>(id);
const box = element<HTMLInputElement>("packets");
const text = element<HTMLTextAreaElement>("text");

const ROWS = 3000; // of series, over the whole of a run
const REST_MS = 400; // a slider that is held still for so long has arrived
const LAST_PICTURE_MS = 1500; // for which a video shows the end of the run
const PLOTS_MS = 50; // between two drawings of the plots; packets move at every frame

const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const say = (message: ToWorker): void => worker.postMessage(message);

const series = new Series();
const network = new Network(element("network"));
const sequence = new Sequence(element("sequence"));
const plots = new Plots({ cwnd: element("cwnd"), goodput: element("goodput"), srtt: element("srtt"), queue: element("queue") }, () => { isDrawn = false; });

let files: Record<string, Uint8Array> = {};
let scenario: ScenarioInfo | null = null;
let checks = 0;
let checked_s = 60; // how long the scenario of the text is
let isRunning = false;
let loadedText = ""; // of the run that is shown, with its changes
let isStale = true; // the text is not what is loaded
let runsWhenLoaded = false;
let runsWhenChecked = false;
let noticeOfNext = ""; // what is said once the next scenario has been loaded
let progress: Progress = { now_s: 0, is_finished: false, events: 0, packets_delivered: 0 };
let cost_s = 0;
let isDrawn = false;
let hasChanges = false;
let onEnd: () => void = () => {};
let onWrong: (reason: Error) => void = () => {};
const wanted: ((bytes: Uint8Array) => void)[] = [];
/** Changes that were made here, as the text has them. */
let recorded: { at: string; link: string }[] = [];
const kept = new Kept();

const form = new Form((path) => {
  const after = edit(text.value, path);
  if (after !== null) return setText(after);
  form.show(fromText(text.value));
  notice("The form cannot write this into the text as it stands: change it there.");
}, notice);
const knobs = new Knobs((knob, path) => {
  if (isStale || progress.now_s === 0 || progress.is_finished) {
    const after = path && says(path) ? edit(text.value, path) : null;
    if (after !== null) setText(after, true);
    return after !== null;
  }
  dragged.add(knob);
  clearTimeout(dragging);
  dragging = setTimeout(sendChanges, REST_MS);
  return true;
}, () => { if (dragged.size > 0) sendChanges(); });
const editor = new Editor(element("editor"), {
  text: () => text.value, write: setText, begin: take, notice, moved: () => network.place(editor.places),
});
network.place(editor.places);
const video = new Video();
const legend = new Legend(element("legend"), () => { showComparison(); isDrawn = false; }, (run) => { kept.remove(run); keptChanged(); });

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

/** A drag is one change of the scenario, when the slider is let go or rests. */
function sendChanges(): void {
  clearTimeout(dragging);
  const changes = [...dragged].flatMap((knob) => knobs.changes(knob));
  dragged.clear();
  unanswered += 1;
  say({ kind: "change", changes });
}

/** What is dragged when another run begins is none of its changes. */
function forgetDrag(): void {
  clearTimeout(dragging);
  dragged.clear();
}

// ---- the text -------------------------------------------------------------------------------------------------------

const past = new Undo();

/** An edit that can be undone; the parts of a drag are one edit. */
function setText(value: string, isPart = false): void {
  if (!isPart) past.note(text.value);
  text.value = value;
  if (!isPart) past.note(value);
  textChanged();
}

function undo(): void {
  const before = past.undo(text.value);
  if (before === null) return notice("There is nothing to undo.");
  text.value = before;
  textChanged();
}

function showUndo(): void {
  element<HTMLButtonElement>("undo").disabled = !past.isBefore(text.value);
}

const edited = (): string => `The scenario has changed: ${isRunning ? "Restart" : "Run"} begins it from 0 s.`;
let waiting: ReturnType<typeof setTimeout> | undefined;

function textChanged(): void {
  if (dragged.size > 0) sendChanges();
  isStale = true;
  hasChanges = false;
  showRecorded();
  showUndo();
  const path = fromText(text.value);
  form.show(path);
  editor.show();
  if (scenario && progress.now_s > 0) notice(edited());
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

function begin({ scenario: loaded, row, diagnostics }: Checked, ofText: string): void {
  const said = noticeOfNext;
  noticeOfNext = "";
  const isToRecord = recordsWhenLoaded;
  recordsWhenLoaded = false;
  showMistakes(diagnostics);
  if (!loaded || !row) {
    if (video.isRecording) record();
    onWrong(new Error(JSON.stringify(diagnostics)));
    return notice("The scenario has mistakes; they are below its text.");
  }
  notice(said);
  [scenario, loadedText, isStale, cost_s, hasChanges] = [loaded, ofText, ofText !== text.value, 0, false];
  progress = { now_s: 0, is_finished: false, events: 0, packets_delivered: 0 };
  forgetDrag();
  series.begin(loaded, row);
  network.begin(loaded);
  knobs.begin(linksAt(loaded, 0), loaded.flows);
  options(select("sequenceFlow"), loaded.flows.map((flow) => flow.name), select("sequenceFlow").value);
  beginSequence(loaded.flows.length);
  beginPlots();
  showLegend();
  showComparison();
  if (isToRecord) startVideo();
  if (runsWhenLoaded) setRunning(true);
}

function beginSequence(flows: number): void {
  sequence.begin(flows);
  sequence.flow = Math.max(select("sequenceFlow").selectedIndex, 0);
}

function beginPlots(): void {
  if (!scenario) return plots.begin([], { index: 0, name: "" }, 1);
  const names = scenario.flows.slice(0, series.flows.length).map((flow) => flow.name);
  plots.begin(names, { index: knobs.link, name: scenario.links[knobs.link]?.name ?? "" }, scenario.duration_s);
  isDrawn = false;
}

function showLegend(): void {
  legend.show(scenario?.flows.slice(0, series.flows.length) ?? [], kept.runs);
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
  if (!scenario) return; // of the run before
  if (message.anew) {
    series.begin(scenario, { numbers: 1 + 7 * series.flows.length + 5 * series.queues.length, flows: series.flows.length, links: series.queues.length });
    network.forget();
    beginSequence(scenario.flows.length);
  }
  progress = message.progress;
  cost_s += message.cost_s;
  follow();
  series.add(message.rows);
  network.add(message.packets, progress.now_s);
  sequence.add(message.packets);
  isDrawn = false;
  if (progress.is_finished) {
    setRunning(false);
    if (video.isRecording) setTimeout(() => { if (video.isRecording) record(); }, LAST_PICTURE_MS);
    onEnd();
  }
  if (!isRunning) showComparison();
}

function onChanged(message: Extract<FromWorker, { kind: "changed" }>): void {
  unanswered -= 1;
  if (!scenario) return; // of the run before
  const given = changesIn(text.value);
  if (message.diagnostics) return notice(message.diagnostics.map((mistake) => `${mistake.field} ${mistake.message}; ${mistake.remedy}`).join(". "));
  hasChanges = true;
  loadedText = message.text;
  scenario = message.scenario ?? scenario;
  // Whoever edited the text meanwhile keeps the edit.
  if (isStale) return notice(`${edited()} The slider changed this run alone: the text was edited before the change could be written into it.`);
  notice("");
  past.note(text.value);
  text.value = message.text;
  past.note(text.value);
  showUndo();
  const before = given.filter((change) => !isAmong(change, recorded));
  recorded = changesIn(text.value).filter((change) => !isAmong(change, before));
  showRecorded();
}

/** How many changes were made here, and a button that drops them. */
function showRecorded(): void {
  const count = timesOf(changesIn(text.value).filter((change) => isAmong(change, recorded)));
  element("dropChanges").hidden = element("recordedNote").hidden = count === 0;
  const told = count === 1 ? "1 change" : `${count} changes`;
  element("dropChanges").textContent = `Drop ${told}`;
  element("recordedNote").textContent = `${told} of yours ${count === 1 ? "is" : "are"} in the scenario: Restart replays ${count === 1 ? "it at its time" : "them at their times"}.`;
}

function dropChanges(): void {
  const after = withoutChanges(text.value, recorded);
  if (after === null) return notice("The changes cannot be taken out of the text as it stands: remove them there.");
  const wasRunning = isRunning;
  recorded = [];
  take(after, true);
  runsWhenChecked = wasRunning;
}

// ---- runs that are kept ---------------------------------------------------------------------------------------------

async function keep(): Promise<void> {
  if (!scenario || series.time.length < 2) return notice("Nothing has run yet: run it, then keep it.");
  if (kept.runs.length === MOST_KEPT) return notice(`At most ${MOST_KEPT} runs are kept: remove one in the legend.`);
  const [loaded, now_s] = [scenario, progress.now_s];
  const run = kept.keep(nameOfRun(loadedText, loaded.name), now_s, loaded, series, JSON.parse(new TextDecoder().decode(await summary())));
  if (run) notice(`Kept “${run.name}” up to ${now_s.toFixed(1)} s: change the scenario and run it again; the kept run is drawn behind.`);
  keptChanged();
}

function keptChanged(): void {
  showLegend();
  showComparison();
  isDrawn = false;
}

let comparisons = 0;

/** The table that compares, while nothing moves. */
function showComparison(): void {
  const number = ++comparisons;
  element("comparison").hidden = kept.runs.length === 0 || progress.now_s === 0;
  if (kept.runs.length === 0 || progress.now_s === 0 || !scenario) return;
  void summary().then((bytes) => {
    if (number !== comparisons || !scenario) return;
    const now: Results = JSON.parse(new TextDecoder().decode(bytes));
    const rows = compared(now, kept.runs.map((run) => run.results), scenario.links[knobs.link]?.name ?? "");
    const cell = (tag: "td" | "th", content: string) => Object.assign(document.createElement(tag), { textContent: content });
    const row = (cells: HTMLElement[]) => { const made = document.createElement("tr"); made.append(...cells); return made; };
    const until = (name: string, now_s: number) => `${name}, to ${Number(now_s.toFixed(3))} s`;
    const heads = [cell("th", ""), cell("th", until("this run", progress.now_s)),
      ...kept.runs.flatMap((run) => [cell("th", until(run.name, run.now_s)), cell("th", "difference")])];
    element("compared").replaceChildren(row(heads), ...rows.map(({ what, values, names, digits }) => row([
      cell("td", what), ...values.flatMap((value, index) => {
        const shown = value === null ? "–" : value.toFixed(digits);
        const name = names[index] ? `${shown} (${names[index]})` : shown;
        return index === 0 ? [cell("td", name)] : [cell("td", name), cell("td", difference(values[0]!, value, digits))];
      }),
    ])));
  });
}

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  switch (data.kind) {
    case "ready": return start(data.catalogue);
    case "checked":
      if (data.number === checks && isStale) {
        showMistakes(data.checked.diagnostics);
        checked_s = data.checked.scenario?.duration_s ?? checked_s;
        if (data.checked.scenario && progress.now_s === 0) load(runsWhenChecked);
        runsWhenChecked = false;
      }
      return;
    case "loaded": return begin(data.checked, data.text);
    case "slice": return onSlice(data);
    case "changed": return onChanged(data);
    case "summary": return wanted.shift()?.(data.bytes);
    case "failed":
      unanswered = 0;
      wanted.length = 0;
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
    plots.draw(series, kept.runs);
    sequence.draw(progress.now_s, plots.window, box.checked);
    showNumbers();
  }
  if (video.isRecording) drawVideo();
  requestAnimationFrame(frame);
}

function drawVideo(): void {
  const style = getComputedStyle(document.documentElement);
  video.draw({
    title: scenario?.name ?? "", clock: `${progress.now_s.toFixed(2)} s`, network: element("network"),
    legend: [...(scenario?.flows.slice(0, series.flows.length) ?? []).map(({ name }, index) => ({ name, color: colorOf(index), dash: [] })),
      ...kept.runs.map(({ name, dash }) => ({ name, color: look().ink, dash }))],
    plots: plots.canvases().map(([plot, canvas]) => ({ caption: PLOTS[plot], canvas })),
    ground: style.getPropertyValue("--ground"), panel: look().panel, ink: style.getPropertyValue("--ink"),
  });
}

let recordsWhenLoaded = false; // a scenario with mistakes is not recorded

/** Begins a video, or ends it; the end of the run ends it too. */
function record(): void {
  if (video.isRecording) {
    video.stop();
    return showVideo();
  }
  if (isRunning || !(isStale || progress.is_finished)) {
    startVideo();
    if (!isRunning) setRunning(true);
    return;
  }
  recordsWhenLoaded = true;
  load(true);
}

function startVideo(): void {
  if (editor.isOpen) toggleEditor();
  const name = scenario?.name ?? "";
  const isOn = video.start((recorded, ending) => download(fileName(name, "run", ending), recorded, recorded.type));
  if (!isOn) notice("This browser records no video: use Chromium, Firefox or Safari of today.");
  showVideo();
}

function showVideo(): void {
  element("record").setAttribute("aria-pressed", String(video.isRecording));
  element("record").textContent = video.isRecording ? "End video" : "Record video";
}

function toggleEditor(): void {
  editor.open(!editor.isOpen);
  element("network").hidden = editor.isOpen;
  element("edit").setAttribute("aria-pressed", String(editor.isOpen));
  element("edit").textContent = editor.isOpen ? "Done" : "Edit";
}

function showNumbers(): void {
  const { now_s, packets_delivered } = progress;
  const speed = cost_s > 0.2 ? ` · ${(packets_delivered / cost_s / 1e6).toFixed(2)} M packets/s` : "";
  const cost = Object.assign(document.createElement("span"), { textContent: speed });
  element("clock").replaceChildren(`${now_s.toFixed(3)} of ${scenario?.duration_s ?? 0} s`, cost);
  element<HTMLProgressElement>("progress").value = scenario ? now_s / scenario.duration_s : 0;
  const head = "<tr><th>flow</th><th>cwnd, kB</th><th>in flight, kB</th><th>srtt, ms</th><th>goodput, Mbit/s</th><th>retransmitted</th></tr>";
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

/** What a plot shows, to be saved. */
function picture(plot: Plot): Picture {
  const [unit, name] = [PLOTS[plot], scenario?.name ?? ""];
  const of = plot === "queue" ? ` of ${scenario?.links[knobs.link]?.name}` : "";
  return { title: `${name}: ${unit.replace(/ \(.*/, "")}${of}`, unit, range: plots.range(), lines: plots.lines(plot), colors: LIGHT };
}

type Ending = "png" | "svg" | "csv";
interface Savable { what: string; at: HTMLElement; svg: () => string; csv: () => string }

/** Each plot that can be saved, with the caption that its buttons stand in. */
const savables: [string, Savable][] = [
  ...(Object.keys(PLOTS) as Plot[]).map((plot): [string, Savable] => [plot, {
    what: PLOTS[plot], at: element(plot).previousElementSibling as HTMLElement, svg: () => svg(picture(plot)), csv: () => csv(picture(plot)),
  }]),
  ["sequence", {
    what: "time and sequence", at: element("sequence").previousElementSibling as HTMLElement, csv: () => sequence.csv(progress.now_s, plots.window),
    svg: () => sequence.svg(`${scenario?.name ?? ""}: time and sequence of ${select("sequenceFlow").value}`, progress.now_s, plots.window),
  }],
];

async function savePlot(plot: string, savable: Savable, ending: Ending): Promise<void> {
  const name = fileName(scenario?.name ?? "", plot, ending);
  if (ending === "png") download(name, await png(savable.svg()), "image/png");
  else if (ending === "svg") download(name, savable.svg(), "image/svg+xml");
  else download(name, savable.csv(), "text/csv");
}

/** Buttons at each plot that save what it shows. */
function addSaves(): void {
  for (const [plot, savable] of savables) {
    const buttons = (["png", "svg", "csv"] as const).map((ending) => {
      const button = Object.assign(document.createElement("button"), { textContent: ending.toUpperCase(), title: `Save what this plot shows as ${ending.toUpperCase()}` });
      button.setAttribute("aria-label", `Save ${savable.what} as ${ending.toUpperCase()}`);
      button.addEventListener("click", () => { savePlot(plot, savable, ending).catch((error) => notice(`The plot cannot be saved: ${error.message ?? error}`)); });
      return button;
    });
    const group = Object.assign(document.createElement("span"), { className: "save" });
    group.append(...buttons);
    savable.at.append(group);
  }
}

const save = (): void => download(`${scenario?.name ?? "scenario"}.toml`, text.value, "application/toml");
const summary = (): Promise<Uint8Array> => new Promise((resolve) => { wanted.push(resolve); say({ kind: "summary" }); });

async function open(chosen: FileList): Promise<void> {
  let main: string | null = null;
  for (const file of chosen) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (/\.(toml|json)$/.test(file.name) && main === null) main = readable(new TextDecoder().decode(bytes));
    else { files[file.name] = bytes; files[`traces/${file.name}`] = bytes; }
  }
  say({ kind: "files", files });
  if (main !== null) return take(main);
  textChanged();
  const told = withoutScenario([...chosen].map(({ name }) => name), text.value);
  notice(told);
  if (progress.now_s === 0) noticeOfNext = told;
}

/** A scenario from elsewhere starts at 0 s, and nothing of the one before is left. */
function take(scenarioText: string, isSameNetwork = false): void {
  setRunning(false);
  forgetDrag();
  progress = { ...progress, now_s: 0, is_finished: false };
  scenario = null;
  series.clear();
  network.clear();
  if (!isSameNetwork) editor.places.clear();
  beginSequence(0);
  knobs.clear();
  options(select("sequenceFlow"), [], "");
  beginPlots();
  showLegend();
  isDrawn = false;
  setText(scenarioText);
}

async function share(): Promise<void> {
  const used = Object.fromEntries(Object.entries(files).filter(([name]) => isNamed(name, text.value)));
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
  editor.begin(form.controllers, form.queues);
  addSaves();
  select("examples").append(...Object.keys(examples.texts).map((name) => new Option(name, name)));
  const shared = (await fromFragment(location.hash).catch(() => null)) ?? (location.hash ? null : await fromServer());
  if (location.hash && !shared) noticeOfNext = "The scenario in the address cannot be read: copy the whole address, to its end. The scenario shown is the studio's own.";
  files = shared?.files ?? {};
  element("recorded").hidden = !shared?.isRecorded;
  say({ kind: "files", files });
  text.value = shared?.text ?? FIRST;
  past.note(text.value);
  textChanged();
  requestAnimationFrame(frame);
}

/** Restarts; what was changed on the way happens again. */
function restart(): void {
  if (!element("recordedNote").hidden) noticeOfNext = "Restarted: your changes happen again at their times. “Drop changes”, below the sliders, takes them out.";
  load(isRunning);
}

const actions: Record<string, () => void> = {
  run: toggle, step, restart, keep: () => void keep(), dropChanges, edit: toggleEditor, undo, record, open: () => element("chooser").click(), save, share: () => void share(),
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
  p: () => box.click(), k: actions.keep!, e: toggleEditor, v: record, "?": actions.help!,
};
document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLInputElement;
  const focused: Focused = { tagName: target.tagName, type: target.type, isInDialog: target.closest("dialog") !== null };
  if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && isUndo(focused)) {
    event.preventDefault();
    return undo();
  }
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey || !isShortcut(event.key, focused)) return;
  event.preventDefault();
  act();
});

text.addEventListener("input", textChanged);
text.addEventListener("change", () => past.note(text.value));
select("speed").addEventListener("change", () => { if (isRunning) say({ kind: "play", speed: Number(select("speed").value) }); });
box.addEventListener("change", () => { if (!isStale) load(isRunning); });
select("examples").addEventListener("change", () => { openExample(select("examples").value); select("examples").value = ""; });
select("sequenceFlow").addEventListener("change", () => { sequence.flow = select("sequenceFlow").selectedIndex; isDrawn = false; });
knobs.onLink = () => {
  beginPlots();
  showComparison();
};
element<HTMLInputElement>("chooser").addEventListener("change", (event) => {
  const chooser = event.target as HTMLInputElement;
  void open(chooser.files!).then(() => { chooser.value = ""; });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { beginPlots(); showLegend(); });
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
