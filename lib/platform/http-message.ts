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

/** How a body is read: "raw" leaves its bytes to the handler, "stream" the reading, too, and "none" ignores it. */
export type BodyFormat = "json" | "form" | "raw" | "stream" | "none";

export type ResponseHeaders = Record<string, string | string[]>;
/** The whole body, or a stream that is opened when its first chunk is read and closed when its iteration ends. */
export type ResponseBody = string | Uint8Array | AsyncIterable<Uint8Array> | null;

/**
 * A response before it becomes a `Response`: the HTTP server writes it to the socket without one. Handlers return it to
 * choose a status or headers; then its body may be a value that the route's schema serializes.
 */
export class RouteResponse<Body = ResponseBody> {
  constructor(
    readonly status: number,
    readonly body: Body,
    readonly headers: ResponseHeaders = {},
  ) {}
}

export function jsonResponse(status: number, value: unknown, headers: ResponseHeaders = {}): RouteResponse {
  return serializedResponse(status, JSON.stringify(value), headers);
}

/** A response whose body is JSON already. */
export function serializedResponse(status: number, json: string, headers: ResponseHeaders = {}): RouteResponse {
  const length = String(Buffer.byteLength(json));
  return new RouteResponse(status, json, { "Content-Type": "application/json", "Content-Length": length, ...headers });
}

/** A JSON body that browsers save as a file (RFC 6266). The file name is plain ASCII; `value` is null for HEAD. */
export function jsonFile(fileName: string, value: unknown): RouteResponse<unknown> {
  const disposition = `attachment; filename="${fileName}"`;
  return new RouteResponse(200, value, { "Content-Type": "application/json", "Content-Disposition": disposition });
}

/** The `Response` that an App Router handler returns. */
export function toResponse({ status, headers, body }: RouteResponse): Response {
  const response = new Response(isStreamed(body) ? streamOf(body) : (body as BodyInit | null), { status });
  response.headers.delete("content-type"); // the default that Response sets for a string
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) response.headers.append(name, one);
  }
  return response;
}

export function isStreamed(body: ResponseBody): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

function streamOf(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull: async (controller) => {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  };
  return new ReadableStream(source, { highWaterMark: 0 }); // opens nothing before the first read
}

/** Readable request headers, by lower-case names. */
export type ReadableHeaders = { get: (name: string) => string | null };
