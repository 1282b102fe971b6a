// What page and worker say to each other.

export interface Diagnostic {
  file: string; line: number | null; column: number | null; field: string; value: string | null;
  message: string; remedy: string; source_line: string | null; marks: string | null;
}
export interface FlowInfo { name: string; controller: string; from: number; to: number; start_s: number; mss_bytes: number }
/** A link; its loss is null where it is no one probability. */
export interface LinkInfo {
  name: string; from: number; to: number; rate_bps: number; delay_s: number; loss: number | null; limit: string | null;
}
/** What the scenario's text changes of a link (by its place) from a time on; what is null stays. */
export interface PlannedChange {
  at_s: number; link: number; rate_bps: number | null; delay_s: number | null; loss: number | null; limit: string | null;
}
/** Links as they begin, and changes in the order of time. */
export interface ScenarioInfo {
  name: string; seed: number; duration_s: number; nodes: string[]; flows: FlowInfo[]; links: LinkInfo[]; changes: PlannedChange[];
}
export interface Checked {
  scenario?: ScenarioInfo; row?: { numbers: number; flows: number; links: number };
  diagnostics?: Diagnostic[]; has_more?: boolean;
}
export interface Progress { now_s: number; is_finished: boolean; events: number; packets_delivered: number }

/** A link's values from a moment on; what is absent stays. */
export interface Change { link: string; rate?: string; delay?: string; loss?: number; limit?: string }

export type ToWorker =
  | { kind: "files"; files: Record<string, Uint8Array> }
  | { kind: "check"; text: string; number: number }
  | { kind: "load"; text: string; sample_s: number; packets: boolean }
  | { kind: "play"; speed: number }            // simulated seconds a second; Infinity: as fast as it goes
  | { kind: "pause" }
  | { kind: "step"; seconds: number }
  | { kind: "change"; changes: Change[] }
  | { kind: "summary" };

export type FromWorker =
  | { kind: "ready"; catalogue: any }
  | { kind: "checked"; checked: Checked; number: number }
  | { kind: "loaded"; checked: Checked; text: string }
  | { kind: "slice"; rows: Float64Array; packets: Float64Array; progress: Progress; cost_s: number; anew: boolean }
  | { kind: "changed"; text: string; diagnostics: Diagnostic[] | null; scenario: ScenarioInfo | null }
  | { kind: "summary"; bytes: Uint8Array }
  | { kind: "failed"; message: string };
