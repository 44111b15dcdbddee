/** A piece of a line: text, code, or the name of a schema, which is a link. */
export type Piece = string | { code: string } | { schema: string };

/** Text with code in backticks. null: it has other Markdown. */
export function piecesOf(text: string): Piece[] | null {
  const parts = text.split("`");
  const isPlain = parts.length % 2 === 1 && parts.every((part, i) => i % 2 === 1 || !/[*_[\]<\\]|\n/.test(part));
  if (!isPlain) return null;
  return parts.flatMap((part, i): Piece[] => (i % 2 === 1 ? [{ code: part }] : part === "" ? [] : [part]));
}

/** "a or b or c". */
export function choicesOf(choices: readonly Piece[][]): Piece[] {
  return choices.flatMap((pieces, i) => (i === 0 ? pieces : [" or ", ...pieces]));
}
