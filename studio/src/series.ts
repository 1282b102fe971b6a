// What has come of series, by column: numbers for plots, with null where there is none.
import type { FlowInfo, ScenarioInfo } from "./messages";

const OF_FLOW = 7; // cwnd, ssthresh, flight size, srtt, latest round trip, goodput, retransmitted (crates/studio/src/rows.rs)
const OF_LINK = 5; // packets, octets, rate, drops, marks

const MEAN_S = 0.5;

export type Column = (number | null)[];
const known = (value: number): number | null => (Number.isNaN(value) ? null : value);

export interface FlowSeries { cwnd: Column; srtt: Column; goodput: Column; latest: number[] }

export class Series {
  time: number[] = [];
  flows: FlowSeries[] = [];
  queues: Column[] = [];
  /** The last row of each link: packets, octets, rate, drops, marks. */
  links: number[][] = [];
  private width = 1;

  begin(scenario: ScenarioInfo, row: { numbers: number; flows: number; links: number }): void {
    this.time = [];
    this.width = row.numbers;
    this.flows = Array.from({ length: row.flows }, () => ({ cwnd: [], srtt: [], goodput: [], latest: [] }));
    this.queues = Array.from({ length: row.links }, () => []);
    this.links = scenario.links.slice(0, row.links).map(() => [0, 0, 0, 0, 0]);
    this.about = scenario.flows;
    this.recent = this.flows.map(() => []);
  }

  clear(): void {
    [this.time, this.flows, this.queues, this.links] = [[], [], [], []];
  }

  private about: FlowInfo[] = [];
  /** Goodput of the last rows of each flow. */
  private recent: number[][] = [];

  /** The mean of as many rows as make `MEAN_S`: what a repair lets go at once is no burst of goodput. */
  private meanGoodput(index: number, goodput: number): number | null {
    if (Number.isNaN(goodput)) return null;
    const recent = this.recent[index]!;
    const interval_s = this.time.length > 1 ? this.time[1]! - this.time[0]! : MEAN_S;
    recent.push(goodput);
    if (recent.length > Math.max(MEAN_S / interval_s, 1)) recent.shift();
    return recent.reduce((sum, value) => sum + value, 0) / recent.length / 1e6;
  }

  add(rows: Float64Array): void {
    for (let at = 0; at + this.width <= rows.length; at += this.width) {
      this.time.push(rows[at]!);
      this.flows.forEach((flow, index) => {
        const of = at + 1 + index * OF_FLOW;
        const { mss_bytes, start_s } = this.about[index]!;
        const srtt = known(rows[of + 3]!);
        flow.cwnd.push(rows[at]! < start_s ? null : rows[of]! / mss_bytes);
        flow.srtt.push(srtt === null ? null : srtt * 1e3);
        flow.goodput.push(this.meanGoodput(index, rows[of + 5]!));
        flow.latest = [...rows.subarray(of, of + OF_FLOW)];
      });
      const links = at + 1 + this.flows.length * OF_FLOW;
      this.queues.forEach((queue, index) => {
        queue.push(rows[links + index * OF_LINK]!);
        this.links[index] = [...rows.subarray(links + index * OF_LINK, links + (index + 1) * OF_LINK)];
      });
    }
  }
}
