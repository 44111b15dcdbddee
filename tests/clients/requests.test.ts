import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { waitFor } from "@/clients/js/src/http/wait";
import { createClient, memoryStore, request } from "@/clients/js/src/index";
import { newClient } from "@/tests/support/clients/client";
import { listenForTest } from "@/tests/support/network/listen";

type Respond = (response: ServerResponse, request: IncomingMessage) => unknown;

/** A server that gives each request the next response, and the last one to all that follow. */
async function serverWith(...responses: Respond[]) {
  const received: string[] = [];
  const server = createServer((incoming, outgoing) => {
    received.push(`${incoming.method} ${incoming.url}`);
    (responses.length > 1 ? responses.shift() : responses[0])?.(outgoing, incoming);
  });
  const url = `http://${await listenForTest(server)}/`;
  return { received, url };
}

const problem =
  (status: number, code: string, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response
      .writeHead(status, { "content-type": "application/problem+json", ...headers })
      .end(JSON.stringify({ type: "about:blank", title: "A title", status, code, requestId: "r" }));
const ok: Respond = (response) => response.end('{"status":"ok"}');

const clientOf = (url: string, waitsMs: number[] = []) =>
  createClient({ url, session: memoryStore("token"), wait: async (ms) => void waitsMs.push(ms) });

describe("a request", () => {
  test("waits as long as Retry-After says, in seconds or until a date", async () => {
    const waitsMs: number[] = [];
    const soon = new Date(Date.now() + 60_000).toUTCString();
    const { url } = await serverWith(
      problem(503, "overloaded", { "retry-after": "7" }),
      problem(429, "rate_limited", { "retry-after": "0" }),
      ok,
    );
    expect(await request(clientOf(url, waitsMs), "GET", "/api/health")).toEqual({ status: "ok" });
    expect(waitsMs).toEqual([7000, 0]);
    const far = await serverWith(problem(503, "unavailable", { "retry-after": soon }));
    const error = await request(clientOf(far.url), "GET", "/api/health").catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "unavailable", status: 503 });
    expect(error.retryAfterSeconds).toBeGreaterThan(50);
    expect(far.received).toHaveLength(1);
  });

  test("is repeated twice, and then fails with the last response's code", async () => {
    const waitsMs: number[] = [];
    const { url, received } = await serverWith(problem(503, "unavailable"));
    await expect(request(clientOf(url, waitsMs), "GET", "/api/health")).rejects.toMatchObject({ code: "unavailable" });
    expect(received).toHaveLength(3);
    expect(waitsMs.every((ms) => ms >= 0 && ms <= 600)).toBe(true);
  });

  test("that changes something is not repeated unless it was refused or has an Idempotency-Key", async () => {
    const body = { email: "ann@example.com" };
    const broken = await serverWith((response) => response.destroy());
    const reset = request(clientOf(broken.url), "POST", "/api/auth/reset/request", { body });
    await expect(reset).rejects.toMatchObject({ code: "network_error", status: 0 });
    expect(broken.received).toHaveLength(1);
    const limited = await serverWith(problem(429, "rate_limited", { "retry-after": "1" }), ok);
    await request(clientOf(limited.url), "POST", "/api/auth/reset/request", { body });
    expect(limited.received).toHaveLength(2);
    const keyed = await serverWith((response) => response.destroy(), ok);
    const headers = { "Idempotency-Key": "once" };
    await request(clientOf(keyed.url), "POST", "/api/auth/reset/request", { body, headers });
    expect(keyed.received).toHaveLength(2);
  });

  test("fills in the path and the query", async () => {
    const { url, received } = await serverWith((response) => response.writeHead(204).end());
    const params = { deviceId: "a/b?c" };
    const result = await request(clientOf(url), "DELETE", "/api/push/devices/{deviceId}", { params });
    const query = { platform: "windows", current: "1.0.0+b&c", channel: undefined };
    await request(clientOf(url), "GET", "/api/version", { query });
    expect(result).toBeUndefined();
    expect(received).toEqual([
      "DELETE /api/push/devices/a%2Fb%3Fc",
      "GET /api/version?platform=windows&current=1.0.0%2Bb%26c",
    ]);
  });

  test("fails with a code if the response is a proxy's page, is cut off or is late", async () => {
    const page = await serverWith((response) => response.end("<html>"));
    await expect(request(clientOf(page.url), "GET", "/api/health")).rejects.toMatchObject({
      code: "unexpected_response",
    });
    const forbidden = await serverWith((response) => response.writeHead(403).end("<html>"));
    await expect(request(clientOf(forbidden.url), "GET", "/api/health")).rejects.toMatchObject({
      code: "unexpected_response",
      status: 403,
    });
    const cut = await serverWith((response) => {
      response.writeHead(200, { "content-length": "100" }).write("{");
      setImmediate(() => response.destroy());
    });
    await expect(request(clientOf(cut.url), "GET", "/api/health")).rejects.toMatchObject({ code: "network_error" });
    const silent = await serverWith(() => {});
    const client = createClient({ url: silent.url, timeoutSeconds: 0.05, maxRetries: 0 });
    await expect(request(client, "GET", "/api/health")).rejects.toMatchObject({ code: "network_error" });
  });

  test("ends with the reason of its signal, also while it waits", async () => {
    const { url } = await serverWith(problem(503, "unavailable", { "retry-after": "9" }));
    const stop = new AbortController();
    const wait = (ms: number, signal?: AbortSignal) => {
      queueMicrotask(() => stop.abort(new Error("left the page")));
      return waitFor(ms, signal);
    };
    const left = request(createClient({ url, wait }), "GET", "/api/health", { signal: stop.signal });
    await expect(left).rejects.toThrow("left the page");
    await expect(request(createClient({ url }), "GET", "/api/health", { signal: stop.signal })).rejects.toThrow("left");
  });

  test("of the service's routes has the types of the OpenAPI document", async () => {
    const { client } = newClient();
    const health = await request(client, "GET", "/api/health");
    expect(health.status satisfies string).toBe("ok");
    // @ts-expect-error the route has no such method
    await expect(request(client, "PUT", "/api/health")).rejects.toMatchObject({ code: "method_not_allowed" });
    // @ts-expect-error a field has another type
    const body: Parameters<typeof request<"/api/auth/reset/request", "POST">>[3] = { body: { email: 1 } };
    await expect(request(client, "POST", "/api/auth/reset/request", body)).rejects.toMatchObject({
      code: "validation_failed",
    });
  });
});
