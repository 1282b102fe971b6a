// The worker: it has the engine, and moves the simulation in slices so short that it hears of everything in between.
import { Engine, Operation } from "./engine";
import type { Checked, FromWorker, Progress, ToWorker } from "./messages";

/** A slice of a run at a given speed takes at most this long; one of a run as fast as it goes about this long. */
const SLICE_MS = 12;

let engine: Engine;
let now_s = 0;
let duration_s = 0;
let isFinished = true;
let speed = 0; // 0 while it is paused
let slice_s = 0.001;
let began = { wall_ms: 0, at_s: 0 };
let loaded: { text: string; sample_s: number; packets: boolean } | null = null;

const say = (message: FromWorker, transfer: Transferable[] = []) => (self as any).postMessage(message, transfer);

/** Moves time on; slices grow and shrink to take as long as they should. */
function advanceTo(until_s: number, budget_ms: number): Progress {
  const begin = performance.now();
  let progress: Progress;
  do {
    const before = performance.now();
    const next_s = Math.min(until_s, now_s + slice_s);
    progress = engine.json(Operation.Advance, { until_s: next_s });
    now_s = progress.now_s;
    isFinished = progress.is_finished;
    const took = performance.now() - before;
    if (took < SLICE_MS / 8) slice_s = Math.min(slice_s * 2, Math.max(duration_s / 20, 1e-3));
    else if (took > SLICE_MS / 2) slice_s = Math.max(slice_s / 2, 1e-6);
  } while (!isFinished && now_s < until_s && performance.now() - begin < budget_ms);
  return progress;
}

function tell(progress: Progress, cost_s: number, anew = false): void {
  const rows = engine.numbers(Operation.Rows);
  const packets = loaded?.packets ? engine.numbers(Operation.Packets) : new Float64Array();
  say({ kind: "slice", rows, packets, progress, cost_s, anew }, [rows.buffer as ArrayBuffer, packets.buffer as ArrayBuffer]);
}

/** The next slice, after what the page has said meanwhile: a timer of a few in a row waits 4 ms, a third of a slice. */
const soon = new MessageChannel();
soon.port2.onmessage = tick;

function tick(): void {
  if (speed === 0 || isFinished) return;
  const begin = performance.now();
  const aim_s = speed === Infinity ? duration_s : began.at_s + ((begin - began.wall_ms) / 1000) * speed;
  if (aim_s > now_s) tell(advanceTo(Math.min(aim_s, duration_s), SLICE_MS), (performance.now() - begin) / 1000);
  if (speed !== Infinity && aim_s - now_s > speed * 0.25) play(speed); // it cannot keep up: the clock waits for it
  if (isFinished) return;
  if (speed === Infinity) soon.port1.postMessage(null);
  else setTimeout(tick, Math.max(0, 15 - (performance.now() - begin)));
}

function play(wanted: number): void {
  const wasPaused = speed === 0;
  speed = wanted;
  began = { wall_ms: performance.now(), at_s: now_s };
  if (wasPaused) setTimeout(tick, 0);
}

function load(text: string, sample_s: number, packets: boolean): Checked {
  const checked: Checked = engine.json(Operation.Load, { text, sample_s, packets });
  if (checked.scenario) {
    loaded = { text, sample_s, packets };
    [now_s, slice_s, isFinished, duration_s] = [0, 0.001, false, checked.scenario.duration_s];
  }
  return checked;
}

function hear(message: ToWorker): void {
  switch (message.kind) {
    case "files":
      engine.ask(Operation.Detach);
      for (const [name, content] of Object.entries(message.files)) engine.attach(name, content);
      return;
    case "check":
      return say({ kind: "checked", number: message.number, checked: engine.json(Operation.Check, { text: message.text }) });
    case "load":
      speed = 0;
      return say({ kind: "loaded", text: message.text, checked: load(message.text, message.sample_s, message.packets) });
    case "play":
      return play(message.speed);
    case "pause":
      speed = 0;
      return;
    case "step":
      speed = 0;
      if (!isFinished) tell(advanceTo(Math.min(now_s + message.seconds, duration_s), Infinity), 0);
      return;
    case "change":
      return change(message.changes);
    case "summary": {
      const bytes = engine.ask(Operation.Summary);
      return say({ kind: "summary", bytes }, [bytes.buffer as ArrayBuffer]);
    }
  }
}

function change(changes: unknown[]): void {
  const answer = engine.json(Operation.Change, { changes });
  const { text = "", diagnostics = null, scenario = null, anew = false } = answer;
  say({ kind: "changed", text, diagnostics, scenario });
  if (anew) tell({ ...engine.json(Operation.Advance, { until_s: now_s }) }, 0, true);
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  try {
    hear(data);
  } catch (error) {
    speed = 0;
    say({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};

async function start(): Promise<void> {
  const response = await fetch(new URL("engine.wasm", import.meta.url));
  if (!response.ok) throw new Error(`engine.wasm cannot be loaded (${response.status}): build it with make studio`);
  engine = await Engine.from(await response.arrayBuffer());
  say({ kind: "ready", catalogue: engine.json(Operation.Catalogue) });
}

start().catch((error) => say({ kind: "failed", message: String(error) }));
