/** What a route says, before it is a Response: plain, so that the front door can write it straight to the socket. */
export type Answer = {
  status: number;
  headers: Record<string, string | string[]>;
  /** Whole, or bytes that are read as they are sent; ending the iteration early lets go of them. */
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
};

/** The part of a request that routes read. A Request has it, and so has the front door's own. */
export type RequestHead = {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: { get: (name: string) => string | null; has: (name: string) => boolean };
};

/** A request with its body, which may be read once. */
export type IncomingRequest = RequestHead & { body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null };

/** An answer as the Response that an App Router handler returns. */
export function toResponse({ status, headers, body }: Answer): Response {
  const response = new Response(isStreamed(body) ? streamOf(body) : (body as BodyInit | null), { status });
  response.headers.delete("content-type"); // what Response makes up for a string
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) response.headers.append(name, one);
  }
  return response;
}

/** Whether a body is read as it is sent. */
export function isStreamed(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
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
  return new ReadableStream(source, { highWaterMark: 0 }); // nothing is opened before somebody reads
}
