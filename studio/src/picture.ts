// A plot to take along: as SVG for papers, as PNG for slides, as CSV for other programs. On white, whatever the page stands on.
import { type Line, type Range, greatest, thinned } from "./lines";

export interface Picture { title: string; unit: string; range: Range; lines: Line[]; colors: string[] }

const [WIDTH, HEIGHT] = [760, 400];
const BOX = { left: 62, right: WIDTH - 14, bottom: HEIGHT - 44 };
const SIGN_WIDTH = 6.6; // of 12 px type, on the wide side

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

export function svg({ title, unit, range, lines, colors }: Picture): string {
  const names = labels(lines);
  // The legend, in as many rows as it takes.
  const keys: { x: number; row: number }[] = [];
  let [x, row] = [BOX.left, 0];
  for (const name of names) {
    const width = 40 + name.length * SIGN_WIDTH;
    if (x > BOX.left && x + width > BOX.right) [x, row] = [BOX.left, row + 1];
    keys.push({ x, row });
    x += width;
  }
  const top = 46 + 18 * (row + 1);
  const height = HEIGHT + 18 * row;
  const bottom = BOX.bottom + 18 * row;
  const most = greatest(lines, range) * 1.08 || 1;
  const across = (time: number): number => near(BOX.left + ((time - range[0]) / (range[1] - range[0])) * (BOX.right - BOX.left));
  const up = (value: number): number => near(bottom - (value / most) * (bottom - top));
  const text = (at: [number, number], content: string, more = "") => `<text x="${at[0]}" y="${at[1]}"${more}>${escaped(content)}</text>`;
  const color = (line: Line): string => colors[line.color % colors.length]!;
  const look = (line: Line): string => `stroke="${color(line)}"${line.dash.length > 0 ? ` stroke-dasharray="${line.dash.join(" ")}" stroke-opacity="0.7"` : ""}`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#333">`,
    `<title>${escaped(title)}</title><rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    text([BOX.left, 22], title, ' font-size="15" fill="#111"'),
    `<clipPath id="box"><rect x="${BOX.left}" y="${top}" width="${BOX.right - BOX.left}" height="${bottom - top}"/></clipPath>`,
    ...ticks(range).map((at) => `<path d="M${across(at)} ${top}V${bottom}" stroke="#e4e7ec"/>${text([across(at), bottom + 17], String(at), ' text-anchor="middle"')}`),
    ...ticks([0, most]).map((at) => `<path d="M${BOX.left} ${up(at)}H${BOX.right}" stroke="#e4e7ec"/>${text([BOX.left - 7, up(at) + 4], String(at), ' text-anchor="end"')}`),
    text([(BOX.left + BOX.right) / 2, bottom + 36], "time (s)", ' text-anchor="middle"'),
    `<text transform="translate(15 ${near((top + bottom) / 2)}) rotate(-90)" text-anchor="middle">${escaped(unit)}</text>`,
    ...lines.map((line, index) => {
      const { x, row } = keys[index]!;
      const y = 42 + 18 * row;
      return `<path d="M${near(x)} ${y}h24" ${look(line)} stroke-width="2" fill="none"/>${text([near(x) + 30, y + 4], names[index]!)}`;
    }),
    `<g clip-path="url(#box)" fill="none" stroke-width="1.25" stroke-linejoin="round">`,
    ...lines.map((line) => `<path ${look(line)} d="${path(line, range, across, up)}"/>`),
    `</g></svg>\n`,
  ];
  return parts.join("\n");
}

function path({ time, values }: Line, range: Range, across: (time: number) => number, up: (value: number) => number): string {
  const parts = thinned(time, values, range, BOX.right - BOX.left);
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
export async function png(picture: Picture): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg(picture))}`;
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
