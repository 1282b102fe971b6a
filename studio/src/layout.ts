// Where nodes stand in a picture of a network: routers in columns from left to right, hosts beside the router that they hang on.
// Both parts of a place are between 0 and 1.

export interface Point { x: number; y: number }
export interface Graph { nodes: unknown[]; links: { from: number; to: number }[]; flows: { from: number; to: number }[] }

const FAN = 0.06; // from one host of a router to the next, of the width
const ARC = 0.05; // how far nodes of one column give way to each other's links, of the width

/** Where a place is on a canvas of this size, with room for queues and names at the edges. */
export const onCanvas = ({ x, y }: Point, width: number, height: number): Point => ({ x: 46 + x * (width - 92), y: 24 + y * (height - 58) });

export const fromCanvas = ({ x, y }: Point, width: number, height: number): Point => ({ x: (x - 46) / (width - 92), y: (y - 24) / (height - 58) });

export function layout({ nodes, links, flows }: Graph): Point[] {
  const near: Set<number>[] = nodes.map(() => new Set());
  for (const { from, to } of links) if (from !== to) { near[from]!.add(to); near[to]!.add(from); }
  const places: Point[] = nodes.map(() => ({ x: 0.5, y: 0.5 }));
  const parts = components(near);
  parts.forEach((part, row) => {
    const top = row / parts.length;
    for (const [node, { x, y }] of layoutOfPart(part, near, flows)) places[node] = { x, y: top + y / parts.length };
  });
  return places;
}

function components(near: Set<number>[]): number[][] {
  const seen = new Set<number>();
  const parts: number[][] = [];
  near.forEach((_, node) => {
    if (seen.has(node)) return;
    const part = [...distances(node, near).keys()];
    part.forEach((one) => seen.add(one));
    parts.push(part.sort((a, b) => a - b));
  });
  return parts;
}

/** How many links each node that can be reached is away, by breadth first search among `within`. */
function distances(from: number, near: Set<number>[], within?: Set<number>): Map<number, number> {
  const found = new Map([[from, 0]]);
  for (const node of found.keys()) {
    for (const next of near[node]!) if (!found.has(next) && (within?.has(next) ?? true)) found.set(next, found.get(node)! + 1);
  }
  return found;
}

const farthest = (found: Map<number, number>): number => [...found].reduce((most, one) => (one[1] > most[1] ? one : most))[0];

function layoutOfPart(part: number[], near: Set<number>[], flows: { from: number; to: number }[]): Map<number, Point> {
  const inner = new Set(part.filter((node) => near[node]!.size > 1));
  if (inner.size === 0) inner.add(part[0]!);
  const leaves = part.filter((node) => !inner.has(node));
  const hubOf = (leaf: number): number => [...near[leaf]!][0]!;
  // A longest way through the inner nodes goes from left to right, from where more flows begin.
  const one = farthest(distances([...inner][0]!, near, inner));
  const other = farthest(distances(one, near, inner));
  const begins = (end: number) => flows.reduce((sum, { from, to }) => sum + at(from, end) - at(to, end), 0);
  const at = (node: number, end: number) => (node === end || (near[node]?.size === 1 && hubOf(node) === end) ? 1 : 0);
  const column = distances(begins(other) > begins(one) || (begins(other) === begins(one) && other < one) ? other : one, near, inner);
  const columns = Math.max(...column.values()) + 1;

  // Hosts of the first column stand left of it and those of the last right; where both are one, by whether flows begin there.
  const left: number[] = [], right: number[] = [], between = new Map<number, number[]>();
  for (const leaf of leaves) {
    const hub = hubOf(leaf);
    const of = column.get(hub)!;
    const isSource = flows.some(({ from }) => from === leaf) || !flows.some(({ to }) => to === leaf);
    if (columns === 1 ? isSource : of === 0) left.push(leaf);
    else if (of === columns - 1) right.push(leaf);
    else between.set(hub, [...(between.get(hub) ?? []), leaf]);
  }
  if (columns === 1 && right.length === 0 && left.length > 2) right.push(...left.splice(Math.ceil(left.length / 2)));
  const begin = left.length > 0 ? 1 : 0;
  const all = columns + begin + (right.length > 0 ? 1 : 0);
  const x = (index: number) => (all === 1 ? 0.5 : index / (all - 1));
  const places = new Map<number, Point>();
  for (let index = 0; index < columns; index++) {
    const here = [...inner].filter((node) => column.get(node) === index);
    here.forEach((node, row) => {
      const arc = here.length > 2 ? ARC * Math.sin((Math.PI * row) / (here.length - 1)) * (index === columns - 1 ? -1 : 1) : 0;
      places.set(node, { x: x(begin + index) + arc, y: (row + 0.5) / here.length });
    });
  }
  const stack = (side: number[], index: number) => {
    const ordered = [...side].sort((a, b) => places.get(hubOf(a))!.y - places.get(hubOf(b))!.y || a - b);
    ordered.forEach((leaf, row) => places.set(leaf, { x: x(index), y: (row + 0.5) / side.length }));
  };
  stack(left, 0);
  stack(right, all - 1);
  // Hosts in between fan out over or under their router, every second router's under it.
  const span = 1 / Math.max(all - 1, 1);
  for (const [hub, group] of between) {
    const { x: middle, y } = places.get(hub)!;
    const isAlone = [...inner].filter((node) => column.get(node) === column.get(hub)).length === 1;
    const fan = Math.min(FAN, (0.7 * span) / Math.max(group.length - 1, 1));
    const away = isAlone ? (column.get(hub)! % 2 === 0 ? 0.42 : -0.42) : 0.5 / [...inner].filter((node) => column.get(node) === column.get(hub)).length;
    group.forEach((leaf, row) => places.set(leaf, { x: middle + (isAlone ? 0 : fan / 2) + (row - (group.length - 1) / 2) * fan, y: y + away }));
  }
  return places;
}
