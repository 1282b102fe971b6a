// Networks that are drawn: what an edit leaves in the text. Each expected text is written by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "@decimalturn/toml-patch";
import { STARTS, addFlow, addLink, addNode, drawn, editFlow, editLink, removeFlow, removeLink, removeNode } from "../src/topology";

const TEXT = `# Why: two in a row.
duration = "20 s"

[topology]
kind = "explicit"

[[topology.node]]
name = "server" # ours

[[topology.node]]
name = "R1"
kind = "router"

[[topology.node]]
name = "home"

[[topology.link]]
from = "server"
to = "R1"
rate = "1 Gbit/s"
delay = "10 ms" # of the city

[[topology.link]]
from = "R1"
to = "home"
rate = "40 Mbit/s"
delay = "5 ms"
queue = { kind = "red", limit = "100 packets", ecn = true }
reverse = { rate = "1 Mbit/s" }

[[flow]]
name = "download"
from = "server"
to = "home"
app = { kind = "bulk" }
`;

test("a network is what the text says", () => {
  const { nodes, links, flows } = drawn(TEXT)!;
  assert.deepEqual(nodes, [{ name: "server", isHost: true }, { name: "R1", isHost: false }, { name: "home", isHost: true }]);
  assert.deepEqual(links[0], { from: "server", to: "R1", rate: "1 Gbit/s", delay: "10 ms", queue: "drop_tail", limit: null });
  assert.deepEqual(links[1], { from: "R1", to: "home", rate: "40 Mbit/s", delay: "5 ms", queue: "red", limit: "100 packets" });
  assert.deepEqual(flows, [{ name: "download", controller: "cubic", from: "server", to: "home", start: "0 s" }]);
});

test("what is not explicit has none", () => {
  for (const text of [TEXT.replace("explicit", "chain"), "[", ""]) assert.deepEqual([drawn(text), addNode(text, true)], [null, null]);
});

const EDITS: [string, string | null, string, string][] = [
  ["rate", editLink(TEXT, 0, { rate: "5 Mbit/s" }), `rate = "1 Gbit/s"`, `rate = "5 Mbit/s"`],
  ["delay", editLink(TEXT, 1, { delay: "50 ms" }), `delay = "5 ms"`, `delay = "50 ms"`],
  ["queue", editLink(TEXT, 1, { queue: "fq_codel" }), `{ kind = "red", limit = "100 packets", ecn = true }`, `{ kind = "fq_codel", limit = "100 packets" }`],
  ["limit", editLink(TEXT, 1, { limit: "20 ms" }), `limit = "100 packets"`, `limit = "20 ms"`],
];
for (const [what, after, before, wanted] of EDITS) test(`an edit of the ${what} changes its words and no others`, () => assert.equal(after, TEXT.replace(before, wanted)));

const tree = (text: string | null): any => JSON.parse(JSON.stringify(parse(text!)));

test("nodes, links and flows are added behind those that are there", () => {
  const before = tree(TEXT);
  const host = addNode(TEXT, true)!, routers = addNode(host, false)!;
  assert.deepEqual(tree(routers).topology.node, [...before.topology.node, { name: "H1" }, { name: "R2", kind: "router" }]);
  const linked = addLink(addLink(routers, "R1", "R2")!, "R2", "H1")!;
  assert.deepEqual(tree(linked).topology.link.slice(2), [
    { from: "R1", to: "R2", rate: "20 Mbit/s", delay: "10 ms", queue: { kind: "drop_tail", limit: "67 packets" } },
    { from: "R2", to: "H1", rate: "1 Gbit/s", delay: "1 ms" },
  ]);
  const whole = addFlow(linked, "server", "H1")!;
  assert.deepEqual(tree(whole).flow, [...before.flow, { name: "cubic 2", controller: "cubic", from: "server", to: "H1" }]);
  for (const comment of ["# Why: two in a row.", "# ours", "# of the city"]) assert.ok(whole.includes(comment), whole);
});

test("a node goes with its links and flows", () => {
  const left = tree(removeNode(TEXT, "home"));
  assert.deepEqual([left.topology.node.length, left.topology.link.length, left.flow], [2, 1, undefined]);
  const nothing = removeNode(removeNode(removeNode(TEXT, "home")!, "R1")!, "server")!;
  assert.deepEqual(drawn(nothing), { nodes: [], links: [], flows: [] });
  const again = addFlow(addLink(addNode(addNode(nothing, false)!, true)!, "H1", "R1")!, "H1", "R1")!;
  assert.equal(again, `# Why: two in a row.\nduration = "20 s"\n\n[topology]\nkind = "explicit"\n
[[topology.node]]\nname = "R1"\nkind = "router"\n
[[topology.node]]\nname = "H1"\n
[[topology.link]]\nfrom = "H1"\nto = "R1"\nrate = "1 Gbit/s"\ndelay = "1 ms"\n
[[flow]]\nname = "cubic 1"\ncontroller = "cubic"\nfrom = "H1"\nto = "R1"\n`);
});

test("a link and a flow go alone; a flow takes another controller and place", () => {
  assert.deepEqual(tree(removeLink(TEXT, 0)).topology.link, tree(TEXT).topology.link.slice(1));
  assert.equal(tree(removeFlow(TEXT, 0)).flow, undefined);
  const after = tree(editFlow(TEXT, 0, { controller: "bbr3", start: "2 s", from: "home", to: "server" })).flow[0];
  assert.deepEqual(after, { name: "download", from: "home", to: "server", app: { kind: "bulk" }, controller: "bbr3", start: "2 s" });
});

for (const [name, text] of Object.entries(STARTS)) {
  test(`${name} can be edited in every part`, () => {
    const { nodes, links, flows } = drawn(text)!;
    assert.ok(flows.every(({ from, to }) => from !== null && to !== null));
    nodes.forEach((node) => assert.ok(removeNode(text, node.name), node.name));
    links.forEach((_, at) => assert.ok(editLink(text, at, { rate: "3 Mbit/s", queue: "codel" }) && removeLink(text, at)));
    flows.forEach((_, at) => assert.ok(editFlow(text, at, { controller: "reno" }) && removeFlow(text, at)));
    assert.ok(addFlow(addLink(addNode(text, true)!, nodes[0]!.name, "H9")!, nodes[0]!.name, nodes[1]!.name));
  });
}
