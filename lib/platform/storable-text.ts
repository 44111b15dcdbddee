const REPLACEMENT_CHARACTER = "\uFFFD";

/** Whether PostgreSQL can store a text: UTF-8 encodes no lone surrogates, and PostgreSQL's `text` and `jsonb` no NUL. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** NUL, or half of a surrogate pair, as JSON.stringify writes it. */
const NOT_STORABLE_IN_JSON = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Whether PostgreSQL can store a JSON value: its texts, and the names of its fields. */
export function isStorableJson(value: unknown): boolean {
  return !NOT_STORABLE_IN_JSON.test(JSON.stringify(value));
}

/** Replaces what PostgreSQL cannot store, NUL and lone surrogates, with U+FFFD. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT_CHARACTER);
}
