// A scenario in the fragment of an address: JSON, deflated, in base64url. Nothing of it is sent to any server.

import { stringify } from "@decimalturn/toml-patch";

export interface Shared { text: string; files: Record<string, Uint8Array>; isRecorded?: boolean }

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array): Promise<Uint8Array> {
  const piped = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as any);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

const toBase64 = (bytes: Uint8Array): string => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));

export async function toFragment({ text, files }: Shared): Promise<string> {
  const packed = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, toBase64(bytes)]));
  const json = new TextEncoder().encode(JSON.stringify({ text, files: packed }));
  return "#s=" + toBase64(await through(new CompressionStream("deflate-raw"), json));
}

/** A scenario as a person writes it: programs write JSON. What TOML cannot say stays as it is, for the engine to tell what is wrong. */
export function readable(text: string): string {
  if (!text.trimStart().startsWith("{")) return text;
  try {
    return stringify(exactly(text));
  } catch {
    return text;
  }
}

const MARK = "\0"; // no scenario has a text that begins so

/** JSON with whole numbers that doubles do not hold, such as seeds, as they are; a key that is null is none. */
function exactly(json: string): unknown {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = json.replace(tokens, (token) => (/^-?\d{16,}$/.test(token) ? JSON.stringify(MARK + token) : token));
  return JSON.parse(marked, function (this: unknown, _, value) {
    if (value === null && !Array.isArray(this)) return undefined;
    return typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value;
  });
}

/** What `ackclock studio PATH` was given to open; nothing from any other server, or from none. */
export async function fromServer(): Promise<Shared | null> {
  try {
    const response = await fetch("opened.json");
    const opened = response.ok ? await response.json() : null;
    if (!opened) return null;
    const text = readable(opened.text);
    const files = Object.entries<string>(opened.files).map(([name, packed]) => [name, fromBase64(packed)] as const);
    return { text, files: Object.fromEntries(files), isRecorded: opened.recorded === true };
  } catch {
    return null;
  }
}

/** Whether a scenario's text names a file, or the index of the checkpoint whose data the file has. */
export function isNamed(name: string, text: string): boolean {
  return text.includes(name) || text.includes(name.replace(/\.data-00000-of-00001$/, ".index"));
}

/** What became of files that were opened without a scenario: those that the text names are there for it. */
export function withoutScenario(names: string[], text: string): string {
  const used = names.filter((name) => isNamed(name, text));
  const unused = names.filter((name) => !used.includes(name));
  return [
    ...(used.length > 0 ? [`Opened for this scenario: ${used.join(", ")}.`] : []),
    ...(unused.length > 0 ? [`Not used: ${unused.join(", ")}. The scenario does not name ${unused.length === 1 ? "it" : "them"}; scenarios are files that end in .toml or .json.`] : []),
  ].join(" ");
}

/** What a fragment holds; nothing if it holds no scenario. */
export async function fromFragment(fragment: string): Promise<Shared | null> {
  if (!fragment.startsWith("#s=")) return null;
  const json = await through(new DecompressionStream("deflate-raw"), fromBase64(fragment.slice(3)));
  const { text, files } = JSON.parse(new TextDecoder().decode(json));
  return { text: readable(text), files: Object.fromEntries(Object.entries<string>(files ?? {}).map(([name, packed]) => [name, fromBase64(packed)])) };
}
