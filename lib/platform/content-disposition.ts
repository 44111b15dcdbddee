import { create } from "content-disposition";

/** Letters that are not an ASCII letter with a mark. */
const TRANSLITERATIONS: Record<string, string> = { ß: "ss", Æ: "AE", æ: "ae", Ø: "O", ø: "o", Ł: "L", ł: "l" };

/**
 * The Content-Disposition of a download (RFC 6266). `filename*` has the exact name; `filename` is for clients that ignore
 * it, such as `curl -OJ`. Names without special characters need only the latter.
 */
export function attachment(fileName: string): string {
  return create(fileName, { fallback: toAscii(fileName) });
}

/** curl ends a name at a quote even if it is escaped, and drops what precedes a backslash. Some browsers decode `%41`. */
function toAscii(fileName: string): string {
  return fileName
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[^\x20-\x7e]/gu, (character) => TRANSLITERATIONS[character] ?? "_")
    .replace(/["'\\/]|%(?=[0-9A-Fa-f]{2})/g, "_");
}
