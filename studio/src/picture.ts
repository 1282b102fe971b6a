// A plot to take along: as SVG for papers, as PNG for slides, as CSV for other programs. On white, whatever the page stands on.
import { type Line, type Range, greatest, thinned } from "./lines";

export interface Picture { title: string; unit: string; range: Range; lines: Line[]; colors: string[] }

const [WIDTH, HEIGHT] = [760, 400];
const [LEFT, RIGHT] = [78, WIDTH - 14];
const SIGN_WIDTH = 7; // of 12 px type, on the wide side

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const near = (value: number): number => Number(value.toFixed(1));

/** Round numbers within a part of an axis, at most seven. */
export function ticks([from, to]: Range): number[] {
  const rough = (to - from) / 6;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * ten).find((one) => one >= rough)!;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found: number[] = [];
  for (let number = Math.ceil(from / step - 1e-9); number * step <= to * (1 + 1e-9); number++) found.push(Number((number * step).toFixed(digits)));
  return found;
}

/** What a line is called where there are several runs. */
function labels(lines: Line[]): string[] {
  const areSeveral = new Set(lines.map(({ run }) => run)).size > 1;
  return lines.map(({ run, name }) => (areSeveral ? `${name} (${run})` : name));
}

/** The legend, in as many rows as it takes. */
function placed(names: string[]): { x: number; row: number }[] {
  let [x, row] = [LEFT, 0];
  return names.map((name) => {
    const width = 40 + name.length * SIGN_WIDTH;
    if (x > LEFT && x + width > RIGHT) [x, row] = [LEFT, row + 1];
    const place = { x, row };
    x += width;
    return place;
  });
}

type Scale = (value: number) => number;

/** A picture with axes, a legend, and what `draw` puts into it. */
export function frame(title: string, unit: string, range: Range, [least, most]: Range, keys: { word: string; color: string; dash?: number[] }[],
  draw: (box: { left: number; right: number; top: number; bottom: number }, across: Scale, up: Scale) => string[]): string {
  const places = placed(keys.map(({ word }) => word));
  const rows = (places.at(-1)?.row ?? 0) + 1;
  const box = { left: LEFT, right: RIGHT, top: 46 + 18 * rows, bottom: HEIGHT - 62 + 18 * rows };
  const height = HEIGHT - 18 + 18 * rows;
  const across: Scale = (time) => near(box.left + ((time - range[0]) / (range[1] - range[0])) * (box.right - box.left));
  const up: Scale = (value) => near(box.bottom - ((value - least) / (most - least)) * (box.bottom - box.top));
  const text = (at: [number, number], content: string, more = "") => `<text x="${at[0]}" y="${at[1]}"${more}>${escaped(content)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">`,
    `<title>${escaped(title)}</title><rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text([box.left, 22], title, ' font-size="15" fill="#111"'),
    `<clipPath id="box"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}"/></clipPath>`,
    ...ticks(range).map((at) => `<path d="M${across(at)} ${box.top}V${box.bottom}" stroke="#e4e7ec"/>${text([across(at), box.bottom + 17], String(at), ' text-anchor="middle"')}`),
    ...ticks([least, most]).map((at) => `<path d="M${box.left} ${up(at)}H${box.right}" stroke="#e4e7ec"/>${text([box.left - 7, up(at) + 4], at.toLocaleString("en"), ' text-anchor="end"')}`),
    text([(box.left + box.right) / 2, box.bottom + 36], "time (s)", ' text-anchor="middle"'),
    `<text transform="translate(15 ${near((box.top + box.bottom) / 2)}) rotate(-90)" text-anchor="middle">${escaped(unit)}</text>`,
    ...keys.map(({ word, color, dash = [] }, index) => {
      const { x, row } = places[index]!;
      const y = 42 + 18 * row;
      return `<path d="M${near(x)} ${y}h24" ${look(color, dash)} stroke-width="2" fill="none"/>${text([near(x) + 30, y + 4], word)}`;
    }),
    `<g clip-path="url(#box)" fill="none" stroke-width="1.25" stroke-linejoin="round">`,
    ...draw(box, across, up),
    `</g></svg>\n`,
  ].join("\n");
}

const look = (color: string, dash: number[]): string => `stroke="${color}"${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}" stroke-opacity="0.7"` : ""}`;

export function svg({ title, unit, range, lines, colors }: Picture): string {
  const colorOf = (line: Line): string => colors[line.color % colors.length]!;
  const names = labels(lines);
  const keys = lines.map((line, index) => ({ word: names[index]!, color: colorOf(line), dash: line.dash }));
  return frame(title, unit, range, [0, greatest(lines, range) * 1.08 || 1], keys, (_, across, up) =>
    lines.map((line) => `<path ${look(colorOf(line), line.dash)} d="${path(line, range, across, up)}"/>`));
}

function path({ time, values }: Line, range: Range, across: Scale, up: Scale): string {
  const parts = thinned(time, values, range, RIGHT - LEFT);
  return parts.map((part) => "M" + part.map(([at, value]) => `${across(at)} ${up(value)}`).join("L")).join("");
}

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A row for each sample that is shown (RFC 4180), missing values left out. */
export function csv({ unit, range: [from, to], lines }: Picture): string {
  const rows = [["run", "name", "time_s", quoted(unit)].join(",")];
  for (const { run, name, time, values } of lines) {
    time.forEach((at, index) => {
      const value = values[index];
      if (at >= from && at <= to && value !== null && value !== undefined) rows.push(`${quoted(run)},${quoted(name)},${Number(at.toFixed(9))},${Number(value.toPrecision(12))}`);
    });
  }
  return rows.join("\r\n") + "\r\n";
}

/** The same picture in points, twice as many as it is wide. */
export async function png(drawn: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture cannot be drawn"))), "image/png"));
}

/** A name for a file, of letters that every system takes. */
export function fileName(scenario: string, what: string, ending: string): string {
  const plain = scenario.normalize("NFKD").replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").toLowerCase();
  return `${plain || "scenario"}-${what}.${ending}`;
}
