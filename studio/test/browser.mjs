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
  const kept = ["# short", '[[change]]\nat = "2 s"\nlink = "bottleneck"\nrate = "5 Mbit/s"', 'access = { rate = "1 Gbit/s", delay = "1 ms" }', 'name = "bbr3 2"', 'name = "vegas 1"'];
  for (const part of kept) expect(`an edit in the form keeps ${part}`, text.includes(part));
  expect("an edit in the form is written", text.includes('duration = "25 s" # short') && text.includes('controller = "vegas"') && !text.includes('"67 packets"'));
  await page.selectOption("#speed", "4");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().now_s > 2.5, null, { timeout: 60_000 });
  expect("a slider follows a change of the text", (await told("rate")) === "5 Mbit/s");
  await page.close();
}

/** A drag, as a browser tells of it: many values, then the end. */
const dragAtOnce = (page, id, positions) => page.evaluate(([id, positions]) => {
  const slider = document.getElementById(id);
  slider.dispatchEvent(new PointerEvent("pointerdown"));
  for (const position of positions) {
    slider.value = String(position);
    slider.dispatchEvent(new Event("input"));
  }
  slider.dispatchEvent(new Event("change"));
}, [id, positions]);

const changesOf = (text) => text.match(/\[\[change\]\]/g)?.length ?? 0;

/** Drags become one change each, at one instant even one for all; they are dropped again. */
async function change() {
  const page = await open({});
  const { text: before } = await state(page);
  await page.selectOption("#speed", "1");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().now_s > 0.3, null, { timeout: 60_000 });
  const changed = (count) => page.waitForFunction((count) => (globalThis.studio.state().text.match(/\[\[change\]\]/g)?.length ?? 0) === count, count, { timeout: 60_000 });
  await dragAtOnce(page, "rate", [540, 500, 430, 400]);
  await changed(1);
  const { now_s } = await state(page);
  await page.waitForFunction((now_s) => globalThis.studio.state().now_s > now_s + 0.05, now_s, { timeout: 60_000 });
  await page.click("#run");
  await page.waitForFunction(() => !globalThis.studio.state().isRunning);
  await dragAtOnce(page, "loss", [300, 400, 500]);
  await changed(2);
  for (const position of [450, 600, 700]) await dragAtOnce(page, "limit", [position]);
  // By hand: 2 (5000 / 2)^0.7 packets, and 0.001 (20 / 0.001)^0.5 %, to two or three digits.
  await page.waitForFunction(() => globalThis.studio.state().text.includes('limit = "478 packets"'), null, { timeout: 60_000 });
  const { text } = await state(page);
  const last = text.split("[[change]]").at(-1);
  expect(`of one instant there is one change: ${text}`, changesOf(text) === 2 && /limit = "478 packets"/.test(last) && /loss = 0\.0014$/m.test(last));
  expect("times of changes are read with ease", [...text.matchAll(/\nat = "(.*)"/g)].every(([, at]) => /^\d+(\.\d{1,3})? s$/.test(at)));
  expect("what was changed is told", (await page.textContent("#recordedNote")).startsWith("2 changes of yours"));
  await page.click("#dropChanges");
  await page.waitForFunction(() => globalThis.studio.state().isStale === false);
  expect("dropped changes leave the text as it was", (await state(page)).text === before && await page.isHidden("#dropChanges"));
  await page.close();
}

/** One run behind the next: in the legend, the table, and what is saved of a plot. */
async function compare() {
  const page = await open({ viewport: { width: 390, height: 800 } });
  await page.fill("#text", (await state(page)).text.replace('"60 s"', '"5 s"').replace('"10 s"', '"1 s"'));
  const finish = async () => {
    await page.waitForFunction(() => globalThis.studio.state().isStale === false);
    await page.selectOption("#speed", "Infinity");
    await page.click("#run");
    await page.waitForFunction(() => globalThis.studio.state().is_finished, null, { timeout: 60_000 });
  };
  await finish();
  await page.click("#keep");
  await page.waitForSelector("#legend input");
  await page.selectOption("#queueKind", "fq_codel");
  await page.waitForFunction(() => globalThis.studio.state().isStale);
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().is_finished && !globalThis.studio.state().isStale, null, { timeout: 60_000 });
  await page.waitForFunction(() => document.querySelectorAll("#compared tr").length > 8);
  const legend = await page.textContent("#legend");
  expect(`the legend names the flows: ${legend}`, legend.includes("cubic 1") && legend.includes("bbr3 2"));
  expect("a kept run has a name", (await page.inputValue("#legend input")) === "drop_tail: cubic + bbr3");
  // The difference is what it says: of the two goodputs in the row.
  const [now, before, difference] = (await page.locator("#compared tr").filter({ hasText: "cubic 1: goodput" }).locator("td").allTextContents()).slice(1);
  expect(`${now} less ${before} is ${difference}`, Math.abs(Number(now) - Number(before) - Number(difference.replace("−", "-"))) < 0.011 && now !== before);
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click('[aria-label="Save goodput (Mbit/s) as CSV"]')]);
  const rows = readFileSync(await saved.path(), "utf8").split("\r\n");
  expect(`a plot is saved under the name of its scenario, both runs in it: ${saved.suggestedFilename()}`, saved.suggestedFilename() === "scenario-goodput.csv"
    && rows.some((row) => row.startsWith("drop_tail: cubic + bbr3,cubic 1,")) && rows.some((row) => row.startsWith("this run,bbr3 2,")));
  for (const [label, begin] of [["PNG", "\x89PNG"], ["SVG", "<svg xmlns="]]) {
    const [picture] = await Promise.all([page.waitForEvent("download"), page.click(`[aria-label="Save congestion window (segments) as ${label}"]`)]);
    expect(`a plot is saved as ${label}`, readFileSync(await picture.path(), "latin1").startsWith(begin));
  }
  await page.selectOption("#examples", "parking-lot");
  await page.waitForFunction(() => globalThis.studio.state().isStale === false);
  const shown = await page.evaluate(() => [...document.querySelectorAll("#form select, #form input")].map((control) => control.value).join(""));
  expect(`the form has nothing of another scenario: ${shown}`, shown === "" && (await page.locator("#flows").textContent()) === "");
  expect("the legend names the flows of an example", /long.*first.*second.*third/.test(await page.textContent("#legend")));
  await page.click('#legend [aria-label^="Remove the kept run"]');
  expect("a kept run is removed", await page.isHidden("#comparison") && (await page.locator("#legend input").count()) === 0);
  await page.close();
}

/** A network by keys and mouse; it is run, and its text and results are written down. */
async function draw() {
  const page = await open({ viewport: { width: 1400, height: 1000 } });
  const there = (part) => page.waitForFunction((part) => globalThis.studio.state().text.includes(part), part, { timeout: 30_000 });
  // While a run is under way, whose last slices come after the new text.
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().now_s > 0.2, null, { timeout: 30_000 });
  await page.click("#edit");
  await page.selectOption("#editor select", "two bottlenecks");
  await there('name = "two bottlenecks"');
  await page.waitForFunction(() => { const { isStale, now_s } = globalThis.studio.state(); return !isStale && now_s === 0; }, null, { timeout: 30_000 });
  await page.click("#addRouter");
  await there('name = "R4"');
  await page.click("#addHost");
  await there('name = "H5"');
  for (const [from, to] of [["R4", "R1"], ["H5", "R4"]]) {
    await page.focus(`#board [data-node="${from}"]`);
    await page.keyboard.press("Escape");
    await page.click("#joinLink");
    for (const name of [from, to]) {
      await page.focus(`#board [data-node="${name}"]`);
      await page.keyboard.press("Enter");
    }
    await there(`from = "${from}"\nto = "${to}"`);
  }
  await page.locator("#properties input").first().fill("12 Mbit/s");
  await page.keyboard.press("Enter");
  await there('rate = "12 Mbit/s"');
  await page.focus('#board [data-node="H5"]');
  await page.keyboard.press("Escape");
  await page.click("#joinFlow");
  const middle = async (name) => {
    const box = await page.locator(`#board [data-node="${name}"] .hit`).boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  await page.mouse.move(...await middle("H5"));
  await page.mouse.down();
  await page.mouse.move(...await middle("H4"), { steps: 4 });
  await page.mouse.up();
  await there('from = "H5"\nto = "H4"');
  await page.focus('#board [data-node="H2"]');
  await page.keyboard.press("Delete");
  await page.waitForFunction(() => !globalThis.studio.state().text.includes('"H2"'));
  await page.click("#edit");
  await page.waitForFunction(() => globalThis.studio.state().isStale === false, null, { timeout: 30_000 });
  await page.selectOption("#speed", "Infinity");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().is_finished, null, { timeout: 120_000 });
  expect("a network that was drawn runs", (await page.textContent("#mistakes")) === "");
  writeFileSync(join(folder, "drawn.toml"), (await state(page)).text);
  writeFileSync(join(folder, "drawn.browser.json"), await page.evaluate(() => globalThis.studio.summary()));
  await page.close();
}

/** Edits, keys and files that a person gets wrong, or changes their mind about. */
async function recover() {
  const page = await open({ viewport: { width: 1400, height: 1000 } });
  const told = () => page.textContent("#notice");
  const textHas = (part) => page.waitForFunction((part) => globalThis.studio.state().text.includes(part), part, { timeout: 30_000 });
  const idle = () => page.waitForFunction(() => globalThis.studio.state().isStale === false, null, { timeout: 30_000 });
  const { text: first } = await state(page);

  // A field says why it does not take a number; an edit is undone by a key.
  await page.fill("#duration", "-5");
  await page.press("#duration", "Enter");
  expect(`a duration below zero is refused: ${await told()}`, (await told()).startsWith("Duration, s: must be") && (await page.inputValue("#duration")) === "60" && await page.isEnabled("#duration"));
  await page.selectOption("#queueKind", "red");
  await textHas('"red"');
  await page.focus("#queueKind");
  await page.keyboard.press("Control+z");
  expect("an edit is undone", (await state(page)).text === first && (await page.inputValue("#queueKind")) === "drop_tail" && await page.isDisabled("#undo"));
  await idle();
  await page.focus("#queueKind");
  for (const letter of ["p", "v"]) await page.keyboard.press(letter);
  expect("letters in a list are the list's", await page.isChecked("#packets") && (await page.textContent("#record")) === "Record video");
  await page.keyboard.press("Escape");

  // A drag is under way while the form is edited: the edit stays.
  await page.evaluate((text) => globalThis.studio.take(text), first);
  await idle();
  await page.selectOption("#speed", "1");
  await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().now_s > 0.3, null, { timeout: 60_000 });
  await page.evaluate(() => {
    const slider = document.getElementById("rate");
    slider.value = "700";
    slider.dispatchEvent(new Event("input"));
    const controller = document.querySelector("#flows .flow select");
    controller.value = "vegas";
    controller.dispatchEvent(new Event("change"));
  });
  await page.waitForFunction(() => document.getElementById("notice").textContent.includes("The slider changed this run alone"), null, { timeout: 30_000 });
  const { text: edited } = await state(page);
  expect("an edit is not overwritten by a drag", edited.includes('"vegas"') && changesOf(edited) === 0 && (await page.locator("#flows .flow select").first().inputValue()) === "vegas");
  await page.click("#keep");
  await page.waitForSelector("#legend input");
  expect("a run is kept under the name of what ran", (await page.inputValue("#legend input")) === "drop_tail: cubic + bbr3");
  await page.click('#legend [aria-label^="Remove the kept run"]');
  expect("the focus goes on after a removal", (await page.evaluate(() => document.activeElement.id)) === "keep");

  // After the run another flow's segments are there, and a zoom is followed.
  await page.fill("#text", first.replace('"60 s"', '"3 s"').replace('"10 s"', '"1 s"'));
  await page.click("#run");
  await page.selectOption("#speed", "Infinity");
  await page.click("#restart");
  await page.waitForTimeout(100);
  if (!(await state(page)).isRunning && !(await state(page)).is_finished) await page.click("#run");
  await page.waitForFunction(() => globalThis.studio.state().is_finished && !globalThis.studio.state().isStale, null, { timeout: 60_000 });
  const drawn = () => page.evaluate(() => new Promise((resolve) => setTimeout(() => resolve(document.getElementById("sequence").toDataURL()), 300)));
  const before = await drawn();
  const plot = await page.locator("#cwnd .u-over").boundingBox();
  await page.mouse.move(plot.x + 0.4 * plot.width, plot.y + 40);
  await page.mouse.down();
  await page.mouse.move(plot.x + 0.6 * plot.width, plot.y + 40, { steps: 4 });
  await page.mouse.up();
  const zoomed = await drawn();
  expect("the time-sequence plot follows a zoom", zoomed !== before);
  await page.selectOption("#sequenceFlow", "bbr3 2");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click('[aria-label="Save time and sequence as CSV"]')]);
  expect("another flow's segments are there after the run", readFileSync(await saved.path(), "utf8").includes(",data,") && (await drawn()) !== zoomed);

  // A scenario with a mistake is not recorded; a picture is told to be none.
  await page.fill("#text", "duration = 5");
  await page.click("#record");
  await page.waitForSelector("#mistakes pre");
  await page.waitForFunction(() => document.getElementById("notice").textContent.includes("mistakes"));
  expect("a scenario with mistakes is not recorded", (await page.textContent("#record")) === "Record video");
  await page.evaluate((text) => globalThis.studio.take(text), first);
  await idle();
  await page.setInputFiles("#chooser", { name: "photo.png", mimeType: "image/png", buffer: Buffer.from("\x89PNG") });
  await page.waitForFunction(() => document.getElementById("notice").textContent.startsWith("Not used: photo.png."), null, { timeout: 30_000 });
  await idle();
  expect("and that stays", (await told()).startsWith("Not used: photo.png."));

  // A node that is gone is the end of no link.
  await page.click("#edit");
  await page.selectOption("#beginWith", "two bottlenecks");
  await textHas('name = "two bottlenecks"');
  await page.click("#joinLink");
  await page.focus('#board [data-node="H1"]');
  await page.keyboard.press("Enter");
  await page.keyboard.press("Delete");
  await page.waitForFunction(() => !globalThis.studio.state().text.includes('"H1"'));
  expect("the focus goes to the next node", (await page.evaluate(() => document.activeElement.dataset.node ?? "")) !== "");
  const { text: without } = await state(page);
  await page.focus('#board [data-node="R2"]');
  await page.keyboard.press("Enter");
  expect("no link of it is written", (await state(page)).text === without && (await page.getAttribute("#joinLink", "aria-pressed")) === "false");
  await page.keyboard.press("Control+z");
  await textHas('"H1"');
  await page.selectOption("#examples", "cellular");
  await textHas("cell.down");
  await page.waitForFunction(() => document.getElementById("link").value !== "" && globalThis.studio.state().isStale === false, null, { timeout: 30_000 });
  expect("the link to begin with carries data", (await page.inputValue("#link")) === "bottleneck");
  await page.close();

  const broken = await open({}, "#s=garbage");
  expect("an address without a scenario is told", (await broken.textContent("#notice")).startsWith("The scenario in the address cannot be read"));
  await broken.close();
}

/** A video of a run, which begins as WebM does (EBML, RFC 8794). */
async function film() {
  const page = await open({});
  await page.fill("#text", (await state(page)).text.replace('"60 s"', '"4 s"').replace('"10 s"', '"1 s"'));
  await page.waitForFunction(() => globalThis.studio.state().isStale === false);
  await page.selectOption("#speed", "4");
  const [video] = await Promise.all([page.waitForEvent("download", { timeout: 120_000 }), page.click("#record")]);
  const bytes = readFileSync(await video.path());
  expect(`a video is saved: ${video.suggestedFilename()}, ${bytes.length} bytes`, video.suggestedFilename() === "scenario-run.webm" && bytes.readUInt32BE(0) === 0x1a45dfa3 && bytes.length > 10_000);
  expect("the end of the run ends the video", (await page.textContent("#record")) === "Record video");
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

const wanted = new Set((process.env.STUDIO_PARTS ?? "cases,use,edit,change,compare,draw,film,frames,pictures").split(","));
const report = {};
if (wanted.has("cases")) report.speeds = await runCases();
if (wanted.has("use")) await use();
if (wanted.has("edit")) {
  await edit();
  await recover();
}
if (wanted.has("change")) await change();
if (wanted.has("compare")) await compare();
if (wanted.has("draw")) await draw();
if (wanted.has("film")) await film();
if (wanted.has("frames")) Object.assign(report, await measureFrames(5));
if (wanted.has("pictures")) await takePictures();
await browser.close();
console.log(JSON.stringify({ ...report, errors }));
process.exit(errors.length > 0 ? 1 : 0);
