// Texts that were there before, to go back to.

const MOST = 200; // texts

export class Undo {
  private texts: string[] = [];

  /** A text to which one may go back; one that is the newest already is not stored twice. */
  note(text: string): void {
    if (text !== this.texts.at(-1)) this.texts.push(text);
    if (this.texts.length > MOST) this.texts.shift();
  }

  /** Whether there is a text before this one. */
  isBefore(now: string): boolean {
    return this.texts.length > 1 || (this.texts.length === 1 && this.texts[0] !== now);
  }

  /** The text before this one; null where there is none. */
  undo(now: string): string | null {
    if (!this.isBefore(now)) return null;
    if (this.texts.at(-1) === now) this.texts.pop();
    return this.texts.at(-1)!;
  }
}
