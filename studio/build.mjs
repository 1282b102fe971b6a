// Builds the page into studio/dist: two scripts, a style sheet, one page, and the engine beside them.
import { build } from "esbuild";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const MOST_BYTES = Number(process.env.MOST ?? 1_500_000); // gzipped, all together

// Examples that need nothing beside their text, and the trace of one that does.
const EXAMPLES = ["two-algorithms", "changing-rate", "bbr-random-loss", "burst-loss", "fair-queueing", "red", "satellite",
  "dctcp-sawtooth", "parking-lot", "asymmetric", "dualpi2-coexistence", "cellular"];
const FILES = { "traces/cell.down": "traces/cell.down" };

function examples() {
  const scenarios = join(here, "..", "scenarios");
  const texts = Object.fromEntries(EXAMPLES.map((name) => [name, readFileSync(join(scenarios, `${name}.toml`), "utf8")]));
  const files = Object.fromEntries(Object.entries(FILES).map(([name, path]) => [name, readFileSync(join(scenarios, path), "utf8")]));
  return { texts, files };
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
writeFileSync(join(here, "src", "examples.gen.json"), JSON.stringify(examples()));
await build({
  entryPoints: { studio: join(here, "src/main.ts"), worker: join(here, "src/worker.ts") },
  bundle: true, minify: true, format: "esm", target: "es2022", outdir: dist, logLevel: "warning", legalComments: "linked",
});
copyFileSync(join(here, "src/index.html"), join(dist, "index.html"));
const engine = join(here, "engine.wasm");
if (existsSync(engine)) copyFileSync(engine, join(dist, "engine.wasm"));
else console.error("engine.wasm is missing: run studio/engine.sh before");

const sizes = readdirSync(dist).map((name) => [name, statSync(join(dist, name)).size, gzipSync(readFileSync(join(dist, name)), { level: 9 }).length]);
for (const [name, size, zipped] of sizes) console.log(`${name.padEnd(24)} ${String(size).padStart(9)} bytes, gzipped ${zipped}`);
const total = sizes.reduce((sum, [, , zipped]) => sum + zipped, 0);
console.log(`together, gzipped        ${total} bytes`);
if (total > MOST_BYTES) {
  console.error(`the studio must be at most ${MOST_BYTES} bytes gzipped, and is ${total}: leave something out`);
  process.exit(1);
}
