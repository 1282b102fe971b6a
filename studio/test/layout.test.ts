// Networks as pictures: no node on another, and none on a link that is not its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Graph, type Point, layout } from "../src/layout";

type Flow = [string, string];

function graph(links: string, flows: Flow[] = []): Graph & { names: string[] } {
  const pairs = links.trim().split(/\s+/).map((pair) => pair.split("-") as Flow);
  const names = [...new Set(pairs.flat())];
  const numbered = (all: Flow[]) => all.map(([from, to]) => ({ from: names.indexOf(from), to: names.indexOf(to) }));
  // Every cable has two directions.
  return { names, nodes: names, links: [...numbered(pairs), ...numbered(pairs.map(([a, b]) => [b, a]))], flows: numbered(flows) };
}

const count = (most: number): number[] => Array.from({ length: most }, (_, index) => index + 1);

const parkingLot = (hops: number): Graph & { names: string[] } => graph(
  [...count(hops).map((at) => `R${at}-R${at + 1}`), ...count(hops + 1).map((at) => `H${at}-R${at}`)].join(" "),
  [["H1", `H${hops + 1}`], ...count(hops).map((at): Flow => [`H${at}`, `H${at + 1}`])],
);
const dumbbell = (flows: number): Graph & { names: string[] } => graph(
  ["L-R", ...count(flows).flatMap((at) => [`s${at}-L`, `d${at}-R`])].join(" "), count(flows).map((at): Flow => [`s${at}`, `d${at}`]),
);

// The picture's least size: on a phone, less the room at its edges (network.ts).
const [WIDTH, HEIGHT] = [390 - 40 - 92, 230 - 58];
const onPage = ({ x, y }: Point): Point => ({ x: x * WIDTH, y: y * HEIGHT });

function distanceToLink(node: Point, from: Point, to: Point): number {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const along = Math.min(Math.max(((node.x - from.x) * x + (node.y - from.y) * y) / (x * x + y * y || 1), 0), 1);
  return Math.hypot(node.x - from.x - along * x, node.y - from.y - along * y);
}

const GRAPHS: [string, Graph & { names: string[] }][] = [
  ["a dumbbell of one", dumbbell(1)], ["a dumbbell of eight", dumbbell(8)],
  ["a parking lot of one hop", parkingLot(1)], ["a parking lot of three hops", parkingLot(3)], ["a parking lot of eight hops", parkingLot(8)],
  ["a chain", graph("a-b b-c c-d d-e", [["a", "e"]])],
  ["a chain the other way", graph("a-b b-c c-d", [["d", "a"]])],
  ["two hosts", graph("a-b", [["b", "a"]])],
  ["incast at a star", graph("hub-h1 hub-h2 hub-h3 hub-h4 hub-h5", [["h2", "h1"], ["h3", "h1"], ["h4", "h1"], ["h5", "h1"]])],
  ["a star without flows", graph("hub-h1 hub-h2 hub-h3 hub-h4")],
  ["two bottlenecks", graph("a-R1 b-R1 R1-R2 R2-R3 R3-c R2-d", [["a", "c"], ["b", "d"]])],
  ["two ways", graph("a-R1 R1-R2 R1-R3 R2-R4 R3-R4 R4-b", [["a", "b"]])],
  ["a ring of six", graph("R1-R2 R2-R3 R3-R4 R4-R5 R5-R6 R6-R1 a-R1 b-R4", [["a", "b"]])],
  ["a full mesh of four", graph("R1-R2 R1-R3 R1-R4 R2-R3 R2-R4 R3-R4 a-R1 b-R4 c-R2", [["a", "b"], ["c", "b"]])],
  ["two leaves and two spines", graph("l1-s1 l1-s2 l2-s1 l2-s2 a-l1 b-l1 c-l2 d-l2", [["a", "c"], ["b", "d"]])],
  ["two islands", graph("a-b c-d", [["a", "b"], ["c", "d"]])],
];

for (const [name, network] of GRAPHS) {
  test(`${name} is drawn without overlap`, () => {
    const places = layout(network);
    for (const { x, y } of places) assert.ok(x >= 0 && x <= 1 && y >= 0 && y <= 1, `${x} ${y}`);
    const at = places.map(onPage);
    at.forEach((one, index) => {
      at.slice(index + 1).forEach((other, more) => {
        const apart = Math.hypot(one.x - other.x, one.y - other.y);
        assert.ok(apart >= 13, `${network.names[index]} and ${network.names[index + 1 + more]} are ${apart.toFixed(1)} apart`);
      });
      for (const { from, to } of network.links) {
        if (from === index || to === index) continue;
        const apart = distanceToLink(one, at[from]!, at[to]!);
        assert.ok(apart >= 8, `${network.names[index]} is ${apart.toFixed(1)} from ${network.names[from]}-${network.names[to]}`);
      }
    });
  });
}

test("the routers of a parking lot stand from left to right, its ends at the edges", () => {
  const { names, ...network } = parkingLot(3);
  const x = (name: string) => layout(network)[names.indexOf(name)]!.x;
  assert.deepEqual(["H1", "R1", "R2", "R3", "R4", "H4"].map((name) => Number(x(name).toFixed(3))), [0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test("flows go from left to right", () => {
  const { names, ...network } = graph("a-b b-c c-d", [["d", "a"]]);
  const places = layout(network);
  assert.ok(places[names.indexOf("d")]!.x < places[names.indexOf("a")]!.x);
});
