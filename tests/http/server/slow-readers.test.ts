import { once } from "node:events";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { MAX_STREAMS_PER_IP } from "@/lib/platform/http/server/http-server";
import { RouteResponse } from "@/lib/platform/http-message";
import { withContext } from "@/tests/support/context";
import {
  expectProblem,
  httpRequest,
  openTestServer,
  parseResponse,
  testRoute,
} from "@/tests/support/network/http-server";

const PATH = "/api/endless";

const chunk = Buffer.alloc(64 * 1024);

let released = 0;

async function* endless() {
  try {
    for (;;) yield chunk;
  } finally {
    released += 1;
  }
}

async function openServer(options?: Parameters<typeof openTestServer>[2]) {
  released = 0;
  return openTestServer({ [PATH]: testRoute(PATH, endless) }, undefined, options);
}

/** A client that has the beginning of the response, and reads no further. */
async function openReader({ open }: Awaited<ReturnType<typeof openServer>>): Promise<Socket> {
  const reader = await open();
  reader.write(httpRequest(PATH));
  await once(reader, "readable");
  return reader;
}

const directly = (run: () => Promise<void>) => withContext({ config: { TRUSTED_PROXY_HOPS: 0 } }, run);

const behindProxy = (run: () => Promise<void>) => withContext({ config: { TRUSTED_PROXY_HOPS: 1 } }, run);

describe("a client that is waited for", () => {
  // The sweep's timers alone: sockets have Node's own.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** Lets seconds pass for the sweep, and the sockets work in each of them. */
  async function pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      vi.advanceTimersByTime(1_000);
      await nextTurn();
    }
  }

  // ASVS 15.2.2
  test("is disconnected after 120 s without a byte, not after twice as long", async () => {
    const server = await openServer();
    await openReader(server);
    await nextTurn();
    await pass(119);
    expect([await server.connections(), released]).toEqual([1, 0]);
    await pass(3);
    await expect.poll(() => released).toBe(1);
    expect(await server.connections()).toBe(0);
  });

  test("must read at the least rate, unless a proxy limits its clients itself", async () => {
    for (const [within, count] of [
      [behindProxy, 0],
      [directly, 1],
    ] as const) {
      await within(async () => {
        const server = await openServer({ minReadBytesPerSecond: 1e12 });
        const reader = await openReader(server);
        reader.resume();
        for (let i = 0; i < 125 && !reader.closed; i++) {
          const before = reader.bytesRead;
          while (reader.bytesRead === before && !reader.closed) await nextTurn();
          await pass(1);
        }
        expect([released, reader.closed]).toEqual([count, count === 1]);
        reader.destroy();
        await expect.poll(() => released).toBe(1);
      });
    }
  });

  test("is not disconnected while the service has nothing to send", async () => {
    let finish = () => {};
    async function* slow() {
      yield Buffer.from("a");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      yield Buffer.from("b");
    }
    const server = await openTestServer({ [PATH]: testRoute(PATH, slow) });
    const reader = await openReader(server);
    await pass(300);
    finish();
    const [{ body }] = [parseResponse(String(Buffer.concat(await reader.toArray())))];
    expect(body).toContain("b");
  });
});

describe("downloads to one IP", () => {
  test(`are at most ${MAX_STREAMS_PER_IP} at a time; one more begins when one ends`, () =>
    directly(async () => {
      const server = await openServer();
      const readers = await Promise.all(Array.from({ length: MAX_STREAMS_PER_IP }, () => openReader(server)));
      const refused = parseResponse(await server.exchange(httpRequest(PATH)));
      expect(refused.status).toBe(429);
      expectProblem(refused, "rate_limited");
      expect(refused.headers["retry-after"]).toBe("10");
      expect(parseResponse(await server.exchange(httpRequest(PATH, [], "HEAD"))).status).toBe(200);
      readers[0]?.destroy();
      await expect.poll(() => released).toBe(1);
      const reader = await server.open();
      reader.write(httpRequest(PATH));
      const [head] = (await once(reader, "data")) as [Buffer];
      expect(parseResponse(String(head)).status).toBe(200);
      reader.destroy();
      for (const one of readers) one.destroy();
      await expect.poll(() => released).toBe(MAX_STREAMS_PER_IP + 1);
    }));

  test("are counted one by one, also if they all wait for the same file", () =>
    directly(async () => {
      let arrived = 0;
      let open = () => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const handle = async () => {
        if (++arrived === MAX_STREAMS_PER_IP + 20) open();
        await opened;
        return new RouteResponse(200, endless());
      };
      const one = {
        summary: "A route of a test",
        database: false,
        response: { status: 200, schema: null },
        writes: "raw",
      } as const;
      const server = await openTestServer({ [PATH]: defineRoute(PATH, { GET: declare({ ...one, run: handle }) }) });
      const readers = await Promise.all(Array.from({ length: MAX_STREAMS_PER_IP + 20 }, () => openReader(server)));
      const statuses = readers.map((reader) => parseResponse(String(reader.read())).status);
      expect(statuses.filter((status) => status === 429)).toHaveLength(20);
      released = 0;
      for (const reader of readers) reader.destroy();
      await expect.poll(() => released).toBe(MAX_STREAMS_PER_IP);
    }));

  test("are not counted behind a proxy, whose IP all clients have", () =>
    behindProxy(async () => {
      const server = await openServer();
      const readers = await Promise.all(Array.from({ length: MAX_STREAMS_PER_IP + 1 }, () => openReader(server)));
      for (const one of readers) expect(parseResponse(String(one.read())).status).toBe(200);
      for (const one of readers) one.destroy();
      await expect.poll(() => released).toBe(MAX_STREAMS_PER_IP + 1);
    }));
});

const Size = z.object({ bytes: z.number() });

/** Resolves when the stream's handler has its first bytes. */
const begun = (() => {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
})();

/** Routes that read a body whole, and as a stream. */
const routes = {
  "/api/whole": defineRoute("/api/whole", {
    POST: declare({
      summary: "Reads a body whole",
      bodyFormat: "raw",
      response: { schema: Size },
      run: ({ bytes }) => ({ bytes: bytes.byteLength }),
    }),
  }),
  "/api/stream": defineRoute("/api/stream", {
    POST: declare({
      summary: "Reads a body as a stream",
      bodyFormat: "stream",
      response: { schema: Size },
      run: async ({ stream }) => {
        let bytes = 0;
        for await (const chunk of stream) {
          bytes += chunk.byteLength;
          begun.resolve();
        }
        return { bytes };
      },
    }),
  }),
};

const requestTo = (target: string) =>
  [
    `POST ${target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    "Content-Type: application/offset+octet-stream",
    "Content-Length: 10",
    "",
    "12345",
  ].join("\r\n");

test("a body that a handler reads as a stream may take longer than other requests", async () => {
  const { server, open } = await openTestServer(routes);
  const [slow, ordinary] = [await open(), await open()];
  let text = "";
  slow.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  slow.write(requestTo("/api/stream"));
  await begun.promise;
  server.requestTimeout = 1;
  ordinary.write(requestTo("/api/whole"));
  const [refusal] = (await once(ordinary, "data")) as [Buffer];
  expect(refusal.toString()).toContain("HTTP/1.1 408 ");
  slow.write("67890");
  await once(slow, "close");
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"bytes":10\}$/);
});
