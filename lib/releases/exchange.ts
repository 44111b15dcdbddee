import type { Conditions } from "./conditions";

/** What a service of this room answers: text, the bytes of a file, or nothing. */
export type Answer = {
  status: 200 | 206 | 302 | 304;
  headers: Record<string, string>;
  body: string | AsyncIterable<Uint8Array> | null;
};

type Head = { method: string; headers: { get: (name: string) => string | null } };

/** The conditions that a request states (RFC 9110, 13 and 14). */
export function conditionsOf({ method, headers }: Head): Conditions {
  return {
    head: method === "HEAD",
    range: headers.get("range"),
    ifRange: headers.get("if-range"),
    ifNoneMatch: headers.get("if-none-match"),
    ifModifiedSince: headers.get("if-modified-since"),
  };
}
