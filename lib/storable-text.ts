const REPLACEMENT_CHARACTER = "\uFFFD";

/** Whether PostgreSQL can store a text: UTF-8 encodes no lone surrogates, and PostgreSQL's `text` and `jsonb` no NUL. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Replaces what PostgreSQL cannot store, NUL and lone surrogates, with U+FFFD. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT_CHARACTER);
}
