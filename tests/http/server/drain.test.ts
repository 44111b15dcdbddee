import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { currentContext } from "@/lib/context";
import { createDrain } from "@/lib/platform/http/server/drain";
import { setUpContext } from "@/tests/support/context";
import { httpRequest, openTestServer, parseResponse, testRoute } from "@/tests/support/network/http-server";

/** Longer than an idle connection stays open. */
const LONG_MS = 10_000;

setUpContext({}); // a copy, which drains
beforeEach(() => {
  currentContext().isDraining = false;
  // The drain's timers alone: sockets have Node's own.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => void vi.useRealTimers());

const keptAlive = (target: string) => httpRequest(target).replace("Connection: close\r\n", "");

/** A server whose drain can be started. `begin` resolves once the listener is closed. */
async function openDrainable(body = () => "hello") {
  const { server, open } = await openTestServer({ "/api/hello": testRoute("/api/hello", body) });
  const drain = createDrain(server);
  let drained: Promise<void> | undefined;
  const begin = () =>
    new Promise<void>((resolve) => {
      drained = drain(() => {
        currentContext().isDraining = true;
        resolve();
      });
    });
  return { open, begin, drained: () => drained };
}

async function nextResponse(socket: Socket) {
  const [chunk] = await once(socket, "data");
  return parseResponse(String(chunk));
}

test("a request on an idle connection gets a response while the server drains, as the last one on it", async () => {
  const { open, begin, drained } = await openDrainable();
  const socket = await open();
  socket.write(keptAlive("/api/hello"));
  expect((await nextResponse(socket)).headers.connection).toBe("keep-alive");
  await begin();
  socket.write(keptAlive("/api/hello"));
  const { status, headers } = await nextResponse(socket);
  expect([status, headers.connection]).toEqual([200, "close"]);
  await drained();
});

test("so does an error of the server's own", async () => {
  const { open, begin, drained } = await openDrainable();
  const socket = await open();
  socket.write(keptAlive("/api/hello"));
  await nextResponse(socket);
  await begin();
  socket.write(keptAlive("/nothing").replace("\r\n\r\n", "\r\nAccept: application/json\r\n\r\n"));
  const { status, headers } = await nextResponse(socket);
  expect([status, headers.connection]).toEqual([404, "close"]);
  await drained();
});

test("connections that stay idle or were never used are closed after a while", async () => {
  const { open, begin, drained } = await openDrainable();
  const [idle, unused] = [await open(), await open()];
  idle.write(keptAlive("/api/hello"));
  await nextResponse(idle);
  await begin();
  vi.advanceTimersByTime(LONG_MS);
  await Promise.all([once(idle, "close"), once(unused.resume(), "close"), drained()]);
});

test("a request that is still arriving gets a response, however long it takes", async () => {
  const { open, begin, drained } = await openDrainable();
  const socket = await open();
  socket.write(`${keptAlive("/api/hello")}GET /api/hello HTTP/1.1\r\n`);
  await nextResponse(socket);
  await begin();
  vi.advanceTimersByTime(LONG_MS);
  socket.write("Host: localhost\r\n\r\n");
  expect((await nextResponse(socket)).status).toBe(200);
  await drained();
});

test("a response to a slow client arrives whole", async () => {
  const body = "x".repeat(8 * 1024 * 1024);
  const { open, begin, drained } = await openDrainable(() => body);
  const socket = await open();
  socket.write(keptAlive("/api/hello"));
  await once(socket, "readable");
  await begin();
  vi.advanceTimersByTime(LONG_MS);
  let receivedBytes = 0;
  socket.on("data", (chunk) => {
    receivedBytes += chunk.length;
    vi.advanceTimersByTime(LONG_MS);
  });
  await once(socket, "close");
  expect(receivedBytes).toBeGreaterThan(body.length);
  await drained();
});
