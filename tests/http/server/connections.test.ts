import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import type { NextHandler } from "@/lib/platform/http/server/next-page";
import { RouteResponse } from "@/lib/platform/http-message";
import { httpRequest, openTestServer, parseResponse, testRoute } from "@/tests/support/network/http-server";

describe("a client that reads nothing", () => {
  test.each(["/api/long", "/page"])("of %s, which is sent whole, is disconnected", async (path) => {
    const long = Buffer.alloc(64 * 1024 * 1024, "x").toString();
    const page: NextHandler = async (_incoming, outgoing) => void outgoing.end(long);
    const routes = { "/api/long": testRoute("/api/long", () => long), "/page": "page" } as const;
    const server = await openTestServer(routes, page, { socketTimeoutMs: 200 });
    const reader = await server.open();
    reader.write(httpRequest(path));
    await once(reader, "readable");
    await expect.poll(server.connections).toBe(0);
  });
});

test("hundreds of clients at the same moment each get their own response, whoever of them is gone", async () => {
  let count = 0;
  const server = await openTestServer({ "/api/count": testRoute("/api/count", () => `number ${++count}.`) });
  const gone = await Promise.all(Array.from({ length: 20 }, server.open));
  for (const socket of gone) {
    socket.write(httpRequest("/api/count"));
    socket.resetAndDestroy();
  }
  const texts = await Promise.all(Array.from({ length: 300 }, () => server.exchange(httpRequest("/api/count"))));
  expect(new Set(texts.map((text) => /number \d+\./.exec(text)?.[0])).size).toBe(300);
});

describe("requests in one packet", () => {
  const keptAlive = (target: string) => httpRequest(target).replace("Connection: close\r\n", "");

  test("get their responses in order, one at a time", async () => {
    const seen: string[] = [];
    const next: NextHandler = async ({ url = "" }, outgoing) => {
      seen.push(`begin ${url}`);
      await new Promise(setImmediate);
      seen.push(`end ${url}`);
      outgoing.end(url);
    };
    const server = await openTestServer({ "/page": "page" }, next);
    const text = await server.exchange(`${keptAlive("/page?1")}${keptAlive("/page?2")}${httpRequest("/page?3")}`);
    expect(text.match(/\/page\?\d/g)).toEqual(["/page?1", "/page?2", "/page?3"]);
    expect(seen).toEqual(["1", "2", "3"].flatMap((n) => [`begin /page?${n}`, `end /page?${n}`]));
  });

  test("by the hundreds are disconnected after at most one has begun", async () => {
    let begun = 0;
    const next: NextHandler = () => {
      begun += 1;
      return new Promise(() => {});
    };
    const server = await openTestServer({ "/page": "page" }, next);
    expect(await server.exchange(keptAlive("/page").repeat(400))).toBe("");
    expect(begun).toBeLessThan(2);
  });
});

describe("a client that sends Expect: 100-continue", () => {
  const uploadRequest = (path: string, length: number) =>
    httpRequest(path, ["Content-Type: application/json", `Content-Length: ${length}`, "Expect: 100-continue"], "POST");
  const upload = defineRoute("/api/upload", {
    POST: declare({
      summary: "A body",
      database: false,
      body: z.object({}),
      response: { schema: null },
      run: () => new RouteResponse(204, null),
    }),
  });

  test("gets 100 if the body is read, and not if it is rejected", async () => {
    const server = await openTestServer({ "/api/upload": upload, "/page": "page" });
    expect(await server.exchange(uploadRequest("/api/upload", 2), "{}")).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 204/,
    );
    for (const [path, code] of [
      ["/page", 405],
      ["/api/upload", 413],
    ] as const) {
      const socket = await server.open();
      socket.write(uploadRequest(path, 1_000_000));
      const [chunk] = await once(socket, "data");
      expect(parseResponse(String(chunk)).status).toBe(code);
    }
  });
});
