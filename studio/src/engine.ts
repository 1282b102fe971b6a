// The engine: a WebAssembly module with five functions. Questions and answers are octets in its memory (crates/studio/src/abi.rs).

export const Operation = {
  Catalogue: 0, Attach: 1, Detach: 2, Check: 3, Load: 4, Advance: 5, Rows: 6, Packets: 7, Summary: 8, Change: 9, Text: 10,
} as const;

interface Exports {
  memory: WebAssembly.Memory;
  studio_input(length: number): number;
  studio_call(operation: number): number;
  studio_output(): number;
  studio_last_words_len(): number;
  studio_last_words(): number;
}

export class Engine {
  private constructor(private readonly wasm: Exports) {}

  static async from(bytes: BufferSource): Promise<Engine> {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance.exports as unknown as Exports);
  }

  /** The answer to a question, as octets of its own. */
  ask(operation: number, question: Uint8Array = new Uint8Array()): Uint8Array {
    const place = this.wasm.studio_input(question.length);
    new Uint8Array(this.wasm.memory.buffer, place, question.length).set(question);
    try {
      const length = this.wasm.studio_call(operation);
      return new Uint8Array(this.wasm.memory.buffer, this.wasm.studio_output(), length).slice();
    } catch (error) {
      throw new Error(this.lastWords() || String(error));
    }
  }

  json(operation: number, question: unknown = null): any {
    const octets = question === null ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(question));
    const answer = JSON.parse(new TextDecoder().decode(this.ask(operation, octets)));
    if (answer?.error) throw new Error(answer.error);
    return answer;
  }

  numbers(operation: number): Float64Array {
    return new Float64Array(this.ask(operation).buffer);
  }

  attach(name: string, content: Uint8Array): void {
    const head = new TextEncoder().encode(name + "\0");
    const question = new Uint8Array(head.length + content.length);
    question.set(head);
    question.set(content, head.length);
    this.ask(Operation.Attach, question);
  }

  private lastWords(): string {
    const length = this.wasm.studio_last_words_len();
    return new TextDecoder().decode(new Uint8Array(this.wasm.memory.buffer, this.wasm.studio_last_words(), length));
  }
}
