import { randomUUID } from "node:crypto";

/** The part of a request that routes read. A `Request` has it, and so has the HTTP server's `NodeRequest`. */
export type RequestHead = {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: { get: (name: string) => string | null; has: (name: string) => boolean };
  /** `aborted`: the client has closed the connection, and waits for no response. Absent where that is not known. */
  signal?: { readonly aborted: boolean };
};

/** A request with its body, which can be read once. */
export type RouteRequest = RequestHead & {
  body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null;
  /** Lets the body take longer to arrive than the HTTP server allows otherwise. Absent where there is no such limit. */
  allowLongBody?: () => void;
};

/** The request's ID: the caller's `X-Request-Id` if it is well-formed, otherwise a new UUID. */
export function requestId({ headers }: Pick<RequestHead, "headers">): string {
  const given = headers.get("x-request-id");
  return given !== null && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID();
}
