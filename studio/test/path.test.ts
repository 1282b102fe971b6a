// What the form writes into a text, and what of the text it leaves as it was. Each expected text is written by hand.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { parse as read } from "@decimalturn/toml-patch";
import { FIRST, type Path, changesIn, edit, fromText, nameOfRun, seedOf, timesOf, withoutChanges } from "../src/path";

declare const SCENARIOS: string;

const parse = (text: string): any => JSON.parse(JSON.stringify(read(text)));

const TEXT = `# Why: who wins when the line gets slower?
name = "my experiment"
duration = "30 s" # long enough
seed = 7

[topology]
kind = "dumbbell"
access = { rate = "250 Mbit/s", delay = "3 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "14 ms", framing = "38 bytes", queue = { kind = "red", limit = "60 packets", ecn = true } }

[[flow]]
name = "the old one" # seen first
controller = { kind = "cubic", beta = 0.8 }
rtt = "70 ms"
app = { kind = "bulk" }

[[flow]]
name = "bbr 2"
controller = "bbr"
start = "5 s"

[[change]]
at = "12 s"
link = "bottleneck"
rate = "2 Mbit/s"
`;

const path = (text = TEXT): Path => fromText(text)!;
const withFlow = (at: number, part: object): Partial<Path> => ({ flows: path().flows.map((flow, index) => (index === at ? { ...flow, ...part } : flow)) });

test("a form shows what the text says", () => {
  const { flows, ...rest } = path();
  // Of the round trip the access links have 4 x 3 ms, the bottleneck 2 x 14 ms.
  assert.deepEqual(rest, { rate_mbps: 10, rtt_ms: 40, loss_percent: 0, limit_packets: 60, queue: "red", duration_s: 30, seed: 7, profile: "linux-6.x" });
  assert.deepEqual(flows, [
    { controller: "cubic", count: 1, start_s: 0, place: 0 }, { controller: "bbr", count: 1, start_s: 5, place: 1 },
  ]);
});

/** The question that is asked today: CUBIC, the default of Linux, beside the newest BBR. */
test("the studio's own scenario is CUBIC beside BBRv3", () => {
  assert.deepEqual(path(FIRST).flows.map(({ controller, start_s }) => [controller, start_s]), [["cubic", 0], ["bbr3", 10]]);
});

test("what is not changed is not written", () => {
  assert.equal(edit(TEXT, path()), TEXT);
  assert.equal(edit(FIRST, path(FIRST)), FIRST);
});

const CASES: [string, Partial<Path>, string, string][] = [
  ["rate", { rate_mbps: 25 }, `rate = "10 Mbit/s"`, `rate = "25 Mbit/s"`],
  ["round trip", { rtt_ms: 100 }, `delay = "14 ms"`, `delay = "44 ms"`], // 100 / 2 - 2 x 3
  ["limit", { limit_packets: 20 }, `limit = "60 packets"`, `limit = "20 packets"`],
  ["queue", { queue: "codel" }, `{ kind = "red", limit = "60 packets", ecn = true }`, `{ kind = "codel", limit = "60 packets" }`],
  ["duration", { duration_s: 45 }, `duration = "30 s"`, `duration = "45 s"`],
  ["seed", { seed: 8 }, "seed = 7", "seed = 8"],
  ["start", withFlow(1, { start_s: 6.5 }), `start = "5 s"`, `start = "6.5 s"`],
  ["controller", withFlow(0, { controller: "vegas" }), `controller = { kind = "cubic", beta = 0.8 }`, `controller = "vegas"`],
  ["controller whose name the form gave", withFlow(1, { controller: "reno" }), `name = "bbr 2"\ncontroller = "bbr"`, `name = "reno 2"\ncontroller = "reno"`],
];

for (const [what, given, before, after] of CASES) {
  test(`an edit of the ${what} changes its words and no others`, () => {
    assert.equal(TEXT.split(before).length, 2);
    assert.equal(edit(TEXT, given), TEXT.replace(before, after));
  });
}

// 2^64 - 1 is a seed, and no double.
test("a seed of 64 bits is shown, kept by other edits, and written", () => {
  const text = TEXT.replace("seed = 7", "seed = 18446744073709551615");
  assert.equal(String(path(text).seed), "18446744073709551615");
  assert.equal(edit(text, { ...path(text), rate_mbps: 25 }), text.replace(`"10 Mbit/s"`, `"25 Mbit/s"`));
  assert.equal(edit(TEXT, { seed: seedOf("18446744073709551615") }), text);
  assert.equal(seedOf("8"), 8);
});

test("loss is written and taken away again", () => {
  const lossy = edit(TEXT, { loss_percent: 2 })!;
  assert.deepEqual(parse(lossy).topology.bottleneck.loss, { kind: "random", p: 0.02 });
  assert.equal(path(lossy).loss_percent, 2);
  assert.equal(edit(lossy, { loss_percent: 0 }), TEXT);
});

test("a stack goes where there is none yet", () => {
  const tree = parse(TEXT);
  assert.deepEqual(parse(edit(TEXT, { profile: "rfc" })!), { ...tree, tcp: { profile: "rfc" } });
});

test("flows come and go without harm to the others", () => {
  const tree = parse(TEXT);
  const added = edit(TEXT, { flows: [...path().flows, { controller: "bbr", count: 3, start_s: 0 }] })!;
  assert.deepEqual(parse(added), { ...tree, flow: [...tree.flow, { name: "bbr 3", controller: "bbr", count: 3 }] });
  assert.ok(added.includes("# seen first") && added.includes("# long enough"));
  const removed = edit(TEXT, { flows: path().flows.slice(1) })!;
  assert.deepEqual(parse(removed), { ...tree, flow: tree.flow.slice(1) });
});

test("a name that something else asks for is not changed", () => {
  const text = `${TEXT}\n[[discard]]\nflow = "bbr 2"\n`;
  assert.ok(edit(text, withFlow(1, { controller: "reno" }))!.includes(`name = "bbr 2"\ncontroller = "reno"`));
});

test("a name keeps its number, if no other flow has it", () => {
  const text = FIRST.replace("bbr3 2", "vegas 1");
  const renamed = edit(FIRST, { flows: path(FIRST).flows.map((flow) => ({ ...flow, controller: "vegas" })) })!;
  assert.deepEqual(parse(renamed).flow.map((flow: any) => flow.name), ["vegas 1", "vegas 2"]);
  const second = edit(text, { flows: path(text).flows.map((flow, at) => (at === 0 ? { ...flow, controller: "vegas" } : flow)) })!;
  assert.deepEqual(parse(second).flow.map((flow: any) => flow.name), ["vegas 2", "vegas 1"]);
});

/** Changes as the engine writes them, behind the text; one that the text had stays. */
test("changes that were made while it ran are taken out again", () => {
  const made = (at: string, rate: string) => `\n[[change]]\nat = "${at}"\nlink = "bottleneck"\nrate = "${rate}"\n`;
  const text = TEXT + made("13.5 s", "4 Mbit/s") + made("20.001 s", "7 Mbit/s");
  assert.deepEqual(changesIn(text).map(({ at }) => at), ["12 s", "13.5 s", "20.001 s"]);
  const after = withoutChanges(text, changesIn(text).slice(1))!;
  assert.deepEqual(parse(after), parse(TEXT));
  assert.deepEqual(comments(after), comments(TEXT));
  assert.deepEqual(changesIn(withoutChanges(FIRST + made("1 s", "2 Mbit/s"), [{ at: "1 s", link: "bottleneck" }])!), []);
  assert.equal(withoutChanges(FIRST, []), null);
});

test("what is written in another way is not shown as a number, and left alone", () => {
  const text = TEXT.replace(`rate = "10 Mbit/s"`, `rate = { trace = "cell.down" }`).replace(`"60 packets"`, `"90 kB"`)
    .replace(`start = "5 s"`, `start = { first = "1 s", spacing = "2 s" }`);
  const shown = path(text);
  assert.deepEqual([shown.rate_mbps, shown.limit_packets, shown.flows[1]!.start_s], [null, null, null]);
  assert.equal(edit(text, { ...shown, seed: 9 }), text.replace("seed = 7", "seed = 9"));
});

test("what is no dumbbell has no form", () => {
  for (const text of [TEXT.replace("dumbbell", "parking_lot"), "flow = [", `{"flow": []}`, ""]) {
    assert.deepEqual([fromText(text), edit(text, { seed: 9 })], [null, null]);
  }
});

/** Every edit of every example that has a form: the tree has the edit and nothing else, and every comment is still there. */
test("of the examples nothing is lost", () => {
  let edits = 0;
  for (const name of readdirSync(SCENARIOS).filter((name) => name.endsWith(".toml"))) {
    const text = readFileSync(`${SCENARIOS}/${name}`, "utf8");
    const shown = fromText(text);
    if (!shown) continue;
    const keys: Partial<Path>[] = [{ rate_mbps: 33 }, { rtt_ms: 777 }, { loss_percent: 3 }, { limit_packets: 99 }, { queue: "codel" }, { duration_s: 12.5 }, { seed: 99 },
      { profile: "rfc" }, { flows: [...shown.flows, { controller: "vegas", count: 1, start_s: 0 }] }];
    for (const given of keys.filter((one) => Object.entries(one).every(([key, value]) => (shown as any)[key] !== null && (shown as any)[key] !== value))) {
      const after = edit(text, given);
      assert.ok(after !== null, `${name} ${JSON.stringify(given)}`);
      const [is, was] = [parse(after), parse(text)];
      const places: Record<string, string[]> = { rate_mbps: ["topology", "bottleneck", "rate"], rtt_ms: ["topology", "bottleneck", "delay"], loss_percent: ["topology", "bottleneck", "loss"],
        limit_packets: ["topology", "bottleneck", "queue"], queue: ["topology", "bottleneck", "queue"], duration_s: ["duration"], seed: ["seed"], profile: ["tcp"], flows: ["flow"] };
      const way = places[Object.keys(given)[0]!]!;
      const without = (tree: any) => { const at = way.slice(0, -1).reduce((part, key) => part[key], tree); delete at[way.at(-1)!]; return JSON.stringify(sorted(tree)); };
      if ("flows" in given) assert.deepEqual(is.flow.slice(0, -1), was.flow, name);
      assert.equal(without(is), without(was), `${name} ${JSON.stringify(given)}`);
      assert.deepEqual(comments(after), comments(text), name);
      edits += 1;
    }
  }
  assert.ok(edits > 100, `only ${edits} edits were tried`);
});

test("a drag of the round trip is one change, of two links", () => {
  const changes = [{ at: "2 s", link: "bottleneck" }, { at: "3 s", link: "bottleneck" }, { at: "3 s", link: "bottleneck.reverse" }];
  assert.deepEqual([timesOf([]), timesOf(changes)], [0, 2]);
});

test("a run has the name of the text that ran", () => {
  const after = edit(FIRST, { queue: "fq_codel" })!;
  assert.deepEqual([nameOfRun(FIRST, "mine"), nameOfRun(after, "mine"), nameOfRun("[", "mine")], ["drop_tail: cubic + bbr3", "fq_codel: cubic + bbr3", "mine"]);
});

const comments = (text: string): string[] => (text.match(/(^|\s)# .*$/gm) ?? []).map((comment) => comment.trim()).sort();
const sorted = (value: any): any => (Array.isArray(value) ? value.map(sorted)
  : value !== null && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);
