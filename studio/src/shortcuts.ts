// Whether a key is a shortcut of the page, or belongs to the control that has the focus.

/** The part of an element that decides it. */
export interface Focused { tagName: string; type?: string; isInDialog: boolean }

const LETTERLESS = new Set(["range", "checkbox", "file"]);

/** Whether the page acts on a key that is pressed there: a list and a field take letters, a button takes the space bar. */
export function isShortcut(key: string, { tagName, type = "text", isInDialog }: Focused): boolean {
  const tag = tagName.toUpperCase();
  if (isInDialog || tag === "TEXTAREA" || tag === "SELECT") return false;
  if (tag === "INPUT") return LETTERLESS.has(type) && !(key === " " && type === "checkbox");
  return !((tag === "BUTTON" || tag === "A") && key === " ");
}

/** Whether Ctrl+Z there is the page's: fields undo what was typed in them by themselves. */
export function isUndo({ tagName, type = "text", isInDialog }: Focused): boolean {
  const tag = tagName.toUpperCase();
  return !isInDialog && tag !== "TEXTAREA" && !(tag === "INPUT" && !LETTERLESS.has(type));
}
