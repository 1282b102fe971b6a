// The tests of what needs no browser: each file test/*.test.ts is bundled, and run by node's own runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = mkdtempSync(join(tmpdir(), "studio-unit-"));
const entryPoints = readdirSync(here).filter((name) => name.endsWith(".test.ts")).map((name) => join(here, name));
await build({ entryPoints, outdir, outExtension: { ".js": ".mjs" }, bundle: true, platform: "node", format: "esm", logLevel: "warning",
  define: { SCENARIOS: JSON.stringify(join(here, "..", "..", "python", "ackclock", "scenarios")) } });
const made = readdirSync(outdir).filter((name) => name.endsWith(".mjs")).map((name) => join(outdir, name));
const { status } = spawnSync(process.execPath, ["--test", ...made], { stdio: "inherit" });
rmSync(outdir, { recursive: true });
process.exit(status ?? 1);
