import { AppError } from "../errors";
import type { Conditions } from "./conditions";
import { ClientId } from "./schema";

/** What a service of this room answers: text, the bytes of a file, or nothing. */
export type Answer = {
  status: 200 | 204 | 206 | 302 | 304;
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
    ifMatch: headers.get("if-match"),
    ifUnmodifiedSince: headers.get("if-unmodified-since"),
    ifNoneMatch: headers.get("if-none-match"),
    ifModifiedSince: headers.get("if-modified-since"),
  };
}

/**
 * Who asks, for rollouts: `clientId=`, else X-User-Staging-Id, which electron-updater sends.
 * @throws AppError invalid_query for a header that is too long.
 */
export function clientIdOf({ headers }: Head, { clientId }: { clientId?: string | undefined }): string | undefined {
  const given = clientId ?? (headers.get("x-user-staging-id") || undefined);
  if (given === undefined || ClientId.safeParse(given).success) return given;
  throw new AppError("invalid_query", { detail: "X-User-Staging-Id must have at most 128 characters." });
}
