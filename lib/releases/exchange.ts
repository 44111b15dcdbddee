import type { Conditions } from "./conditions";
import { type FilePart, fileStream } from "./files";

/** What a service of this room answers: text, part of a file, or nothing. */
export type Answer = {
  status: 200 | 206 | 302 | 304;
  headers: Record<string, string>;
  body: string | FilePart | null;
};

/** The conditions that a request states (RFC 9110, 13 and 14). */
export function conditionsOf({ method, headers }: Request): Conditions {
  return {
    head: method === "HEAD",
    range: headers.get("range"),
    ifRange: headers.get("if-range"),
    ifNoneMatch: headers.get("if-none-match"),
    ifModifiedSince: headers.get("if-modified-since"),
  };
}

/** An answer on its way out. A HEAD gets the headers and opens nothing. */
export function toResponse({ status, headers, body }: Answer, { head }: Conditions): Response {
  if (head || body === null) return new Response(null, { status, headers });
  return new Response(typeof body === "string" ? body : fileStream(body), { status, headers });
}
