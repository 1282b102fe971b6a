// Lines over time, as plots and pictures draw them.

export interface Line { run: string; name: string; color: number; dash: number[]; time: number[]; values: (number | null)[] }
export type Range = [number, number];

/** Where the first time at or after one is. */
function firstAt(time: number[], at: number): number {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle]! < at) low = middle + 1; else high = middle;
  }
  return low;
}

/** The greatest value that the lines have within a part of the time; zero if they have none. */
export function greatest(lines: Line[], [from, to]: Range): number {
  let most = 0;
  for (const { time, values } of lines) {
    for (let at = firstAt(time, from); at < time.length && time[at]! <= to; at++) most = Math.max(most, values[at] ?? 0);
  }
  return most;
}

/** The points of a part of the time, with one beyond at either side, parted where there is no value: of as many as fall
 * into one column of `columns` the first, the least, the greatest and the last, which look the same. */
export function thinned(time: number[], values: (number | null)[], [from, to]: Range, columns: number): [number, number][][] {
  const parts: [number, number][][] = [];
  const [begin, end] = [Math.max(firstAt(time, from) - 1, 0), Math.min(firstAt(time, to) + 1, time.length)];
  let part: [number, number][] = [];
  let column: number[] = []; // places of its points
  let of = -Infinity;
  const flush = (): void => {
    if (column.length > 0) {
      const by = (is: (a: number, b: number) => boolean) => column.reduce((best, at) => (is(values[at]!, values[best]!) ? at : best));
      const kept = new Set([column[0]!, by((a, b) => a < b), by((a, b) => a > b), column.at(-1)!]);
      part.push(...[...kept].sort((a, b) => a - b).map((at): [number, number] => [time[at]!, values[at]!]));
    }
    column = [];
  };
  for (let at = begin; at < end; at++) {
    if (values[at] === null || values[at] === undefined) {
      flush();
      if (part.length > 0) parts.push(part);
      part = [];
      continue;
    }
    const now = Math.floor(((time[at]! - from) / (to - from)) * columns);
    if (now !== of) flush();
    of = now;
    column.push(at);
  }
  flush();
  if (part.length > 0) parts.push(part);
  return parts;
}
