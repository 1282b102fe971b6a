// Runs a program of Python with the wheel in Pyodide: node release/pyodide/run.mjs WHEEL FILE.py
import { readFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const [wheel, program] = process.argv.slice(2);
const python = await loadPyodide();
await python.loadPackage(wheel, { messageCallback: () => {} });
try {
  python.runPython(readFileSync(program, "utf-8"));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
