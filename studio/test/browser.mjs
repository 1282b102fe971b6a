// The page in Chromium, as a person uses it: real clicks, keys and drags, and whole runs whose results are written down.
//
//   node test/browser.mjs ADDRESS FOLDER     FOLDER has cases.json; results and pictures go there, and a report to standard output
import { chromium } from "playwright-core";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [address, folder] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(join(folder, "cases.json"), "utf8"));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const errors = [];

async function open(options, fragment = "") {
  const page = await browser.newPage(options);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  await page.goto(address + fragment);
  await page.waitForFunction(() => globalThis.studio?.state().isStale === false, null, { timeout: 60_000 });
  return page;
}

const state = (page) => page.evaluate(() => globalThis.studio.state());

/** Whole runs, whose summaries are compared outside. */
async function runCases() {
  const page = await open({});
  const speeds = [];
  for (const { name, text, files } of cases) {
    const result = await page.evaluate(async ([text, files]) => {
      const bytes = Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Uint8Array.from(atob(content), (c) => c.charCodeAt(0))]));
      return globalThis.studio.whole(text, bytes);
    }, [text, files]).catch((error) => { errors.push(`${name}: ${error}`); });
    if (!result) continue;
    writeFileSync(join(folder, `${name}.browser.json`), result.summary);
    speeds.push({ name, packets: result.packets, seconds: result.cost_s });
  }
  await page.close();
  return speeds;
}

/** A mouse takes a slider from where it is by a part of its length. */
async function drag(page, id, part) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
  const box = await page.locator(`#${id}`).boundingBox();
  const at = await page.locator(`#${id}`).evaluate((slider) => Number(slider.value) / Number(slider.max));
  const [x, y] = [box.x + 8 + at * (box.width - 16), box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + part * box.width, y, { steps: 8 });
  await page.mouse.up();
}

function expect(what, holds) {
  if (!holds) errors.push(`expected: ${what}`);
}

/** Runs, pauses, changes the link while it runs, shares; the text that is left is written down with its results. */
async function use() {
  const page = await open({ viewport: { width: 1600, height: 1000 } });
  await page.keyboard.press("Escape");
  await page.keyboard.press(" ");
  await page.waitForTimeout(1500);
  const running = await state(page);
  expect("space runs it", running.isRunning && running.now_s > 0.2);
  await drag(page, "rate", -0.15);
  await drag(page, "loss", 0.4);
  await page.waitForTimeout(1000);
  await drag(page, "rtt", 0.1);
  await drag(page, "limit", -0.1);
  await page.waitForTimeout(1000);
  const changed = await state(page);
  expect("drags become changes of the scenario", changed.hasChanges && (changed.text.match(/\[\[change\]\]/g) ?? []).length >= 4);
  expect("it runs on", changed.isRunning && changed.now_s > running.now_s);
  await page.locator("body").click({ position: { x: 4, y: 4 } });
  await page.keyboard.press(" ");
  await page.waitForTimeout(200);
  const paused = await state(page);
  expect("space pauses it", !paused.isRunning);
  await page.keyboard.press(".");
  await page.waitForTimeout(200);
  expect("a step moves it on", (await state(page)).now_s > paused.now_s);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#s="));
  const shared = await open({}, new URL(page.url()).hash);
  expect("an address holds the scenario", (await state(shared)).text === (await state(page)).text);
  await shared.close();
  await page.selectOption("#speed", "Infinity");
  await page.keyboard.press("Escape");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().is_finished, null, { timeout: 120_000 });
  const { text } = await state(page);
  writeFileSync(join(folder, "changed.toml"), text);
  writeFileSync(join(folder, "changed.browser.json"), await page.evaluate(() => globalThis.studio.summary()));
  await page.fill("#text", text.replace("controller = ", "controler = "));
  await page.waitForSelector("#mistakes pre");
  expect("a mistake is shown with its line", /line \d+.*controler/s.test(await page.textContent("#mistakes")));
  await page.close();
}

/** A scenario with a change in it: sliders show the start, then what the text changes; the form leaves alone what it does not show. */
async function edit() {
  const page = await open({});
  const told = (id) => page.textContent(`output[for=${id}]`);
  const first = (await state(page)).text;
  const planned = first.replace('duration = "60 s"', 'duration = "20 s" # short') + '\n[[change]]\nat = "2 s"\nlink = "bottleneck"\nrate = "5 Mbit/s"\n';
  await page.fill("#text", planned);
  await page.waitForFunction(() => globalThis.studio.state().isStale === false);
  expect("a slider shows the rate of the beginning", (await told("rate")) === "20 Mbit/s");
  await drag(page, "limit", 0.1);
  await page.locator("#flows .flow select").first().selectOption("vegas");
  await page.locator("#duration").fill("25");
  await page.locator("#duration").press("Enter");
  await page.waitForFunction(() => globalThis.studio.state().isStale === false);
  const { text } = await state(page);
  const kept = ["# short", '[[change]]\nat = "2 s"\nlink = "bottleneck"\nrate = "5 Mbit/s"', 'access = { rate = "1 Gbit/s", delay = "1 ms" }', 'name = "bbr 2"', 'name = "vegas 1"'];
  for (const part of kept) expect(`an edit in the form keeps ${part}`, text.includes(part));
  expect("an edit in the form is written", text.includes('duration = "25 s" # short') && text.includes('controller = "vegas"') && !text.includes('"67 packets"'));
  await page.selectOption("#speed", "4");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().now_s > 2.5, null, { timeout: 60_000 });
  expect("a slider follows a change of the text", (await told("rate")) === "5 Mbit/s");
  await page.close();
}

/** Frames a second while packets move, at the usual speed. */
async function measureFrames(seconds) {
  const page = await open({ viewport: { width: 1600, height: 1000 } });
  await page.click("#run");
  await page.waitForTimeout(1000);
  // Of the page's thread the processor's time, which says what it could do on a machine with nothing else to do.
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => (await client.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const [before, cpuBefore] = [await state(page), await cpu()];
  const begin = performance.now();
  await page.waitForTimeout(seconds * 1000);
  const [after, cpuAfter] = [await state(page), await cpu()];
  const elapsed = (performance.now() - begin) / 1000;
  await page.close();
  const frames = after.frames - before.frames;
  return { frames_per_second: frames / elapsed, cpu_ms_per_frame: (1000 * (cpuAfter - cpuBefore)) / frames, simulated_per_second: (after.now_s - before.now_s) / elapsed };
}

async function takePictures() {
  for (const width of [360, 900, 1600]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open({ viewport: { width, height: width === 360 ? 760 : 1000 }, colorScheme });
      await page.selectOption("#speed", "16");
      await page.click("#run");
      await page.waitForFunction(() => globalThis.studio.state().now_s > 22, null, { timeout: 60_000 });
      await page.selectOption("#speed", "0.1");
      await page.waitForTimeout(600);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(`nothing is wider than the page at ${width}`, !isWide);
      await page.screenshot({ path: join(folder, `studio-${width}-${colorScheme}.png`), fullPage: width !== 1600 });
      await page.close();
    }
  }
}

const wanted = new Set((process.env.STUDIO_PARTS ?? "cases,use,edit,frames,pictures").split(","));
const report = {};
if (wanted.has("cases")) report.speeds = await runCases();
if (wanted.has("use")) await use();
if (wanted.has("edit")) await edit();
if (wanted.has("frames")) Object.assign(report, await measureFrames(5));
if (wanted.has("pictures")) await takePictures();
await browser.close();
console.log(JSON.stringify({ ...report, errors }));
process.exit(errors.length > 0 ? 1 : 0);
