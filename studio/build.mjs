// Builds the page into studio/dist: two scripts, a style sheet, one page, and the engine beside them.
import { build } from "esbuild";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const MOST_BYTES = 1_500_000; // by Brotli as servers send it, all together

// Examples that need nothing beside their text, and the trace of one that does.
const EXAMPLES = ["two-algorithms", "changing-rate", "bbr-random-loss", "burst-loss", "fair-queueing", "red", "satellite",
  "dctcp-sawtooth", "parking-lot", "asymmetric", "dualpi2-coexistence", "cellular"];
const FILES = { "traces/cell.down": "traces/cell.down" };

function examples() {
  const scenarios = join(here, "..", "python", "ackclock", "scenarios");
  const texts = Object.fromEntries(EXAMPLES.map((name) => [name, readFileSync(join(scenarios, `${name}.toml`), "utf8")]));
  const files = Object.fromEntries(Object.entries(FILES).map(([name, path]) => [name, readFileSync(join(scenarios, path), "utf8")]));
  return { texts, files };
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
writeFileSync(join(here, "src", "examples.gen.json"), JSON.stringify(examples()));
await build({
  entryPoints: { studio: join(here, "src/main.ts"), worker: join(here, "src/worker.ts"), results: join(here, "src/results.ts") },
  bundle: true, minify: true, format: "esm", target: "es2022", outdir: dist, logLevel: "warning", legalComments: "linked",
});
for (const page of ["index.html", "results.html"]) copyFileSync(join(here, "src", page), join(dist, page));
rmSync(join(dist, "results.css"), { force: true }); // a part of studio.css
const engine = join(here, "engine.wasm");
if (existsSync(engine)) copyFileSync(engine, join(dist, "engine.wasm"));
else console.error("engine.wasm is missing: run studio/engine.sh before");

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 } };
const sizes = readdirSync(dist).map((name) => {
  const bytes = readFileSync(join(dist, name));
  return [name, statSync(join(dist, name)).size, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, quality).length];
});
const sum = (column) => sizes.reduce((total, row) => total + row[column], 0);
const total = sum(3);
for (const [name, size, zipped, brotli] of [...sizes, ["together", sum(1), sum(2), total]]) {
  console.log(`${name.padEnd(20)} ${String(size).padStart(9)} bytes, gzip ${String(zipped).padStart(8)}, Brotli ${String(brotli).padStart(8)}`);
}
if (total > MOST_BYTES) {
  console.error(`the studio must be at most ${MOST_BYTES} bytes by Brotli, and is ${total}: leave something out`);
  process.exit(1);
}
