import { once } from "node:events";
import { readdir, readlink } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { anyDatabase, newDataDir, type Service, startService } from "@/tests/support/process/service";

let service: Service;

beforeAll(async () => {
  const RELEASE_CATALOG = path.join(await newDataDir(), "releases", "catalog.json");
  await writeSampleCatalog(RELEASE_CATALOG);
  service = await startService({ RATE_LIMITS: "off", RELEASE_CATALOG, ...(await anyDatabase()) });
});

afterAll(async () => {
  expect(await service.end("SIGTERM")).toBe(0);
  const lines = service.log().trim().split("\n");
  expect(lines.filter((line) => !isObject(line))).toEqual([]);
});

/** Whether a line of the log is a JSON object. */
function isObject(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return socket;
}

/** Sends bytes as they are; everything that comes back until the server closes. */
async function exchange(...parts: string[]): Promise<string> {
  const socket = await open();
  for (const part of parts) socket.write(part);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {}); // a server may close before it has read everything
  await new Promise((closed) => socket.once("close", closed));
  return text;
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", ""].join("\r\n");

/** The open descriptors of the service's process that are files of its catalog. */
async function openFiles(): Promise<number> {
  const folder = `/proc/${service.pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return links.filter((link) => link.includes("/releases/")).length;
}

describe("targets", () => {
  test.each([
    ["/api/health", 200],
    ["http://localhost/api/health", 200],
    ["http://somewhere.else/api/version?x=1", 200],
    ["/api/health/", 404],
    ["/./api/health", 400],
    ["/%2e/api/health", 400],
    ["/nothing/../api/health", 400],
    ["/api/%68ealth", 200],
    ["/api/%", 400],
    ["/forms/%ff", 400],
    ["/forms/%", 400],
    ["/_next/static/%%32%65%%32%65/%%32%65%%32%65/api/health", 400],
    ["/api/download/%E0%A4%A", 400],
    ["/api/download/..%2f..%2fetc%2fpasswd", 404],
    ["/api/push/devices/%00", 405],
    ["/api?x", 404],
    ["/api//health", 404],
  ])("%s gets %i", async (target, status) => {
    const answer = await exchange(get(target));
    expect(statusOf(answer)).toBe(status);
    if (status !== 200) expect(answer).toContain("application/problem+json");
  });

  test.each([
    "//api/health",
    "//evil.example/api/health",
    "/nothing",
    "*",
    "/..",
    "?",
    "/%5cevil.example/",
    "/api%2fhealth",
    "/_next/static/%2e%2e%2fserver%2fapp-paths-manifest.json",
    "/_next/data/x/docs.json",
    "/sign-in?nxtPx=%&x=%ff",
    "/_next/static/%00",
    "/%00",
    "/sign-in/%00",
    "/download/%0d%0ax",
  ])("%s is not a route, and not a server error", async (target) => {
    expect(statusOf(await exchange(get(target)))).toBeLessThan(500);
  });

  test("a page in absolute form gets a response, and is no redirect to its host", async () => {
    expect(statusOf(await exchange(get("http://evil.example/sign-in")))).toBe(200);
    const unknown = await exchange(get("http://evil.example/nothing/"));
    expect(statusOf(unknown)).toBe(404);
    expect(unknown).not.toMatch(/^location:/im);
  });

  test("headers that control Next change nothing about a page", async () => {
    const steering = [
      ["RSC: 1", "Next-Router-State-Tree: %"],
      ["RSC: 1", "Next-Router-Prefetch: 1"],
      ["X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example"],
      ["X-Middleware-Subrequest: proxy:proxy:proxy:proxy:proxy"],
    ];
    for (const headers of steering) {
      for (const [target, status] of [
        ["/sign-in", 200],
        ["/_global-error", 404],
      ] as const) {
        const answer = await exchange(get(target, ...headers));
        expect([headers, statusOf(answer)]).toEqual([headers, status]);
        expect(answer).toMatch(/^content-security-policy: default-src 'none'/im);
      }
    }
  });
});

describe("the protocol", () => {
  // ASVS 13.4.4
  test("an unknown method gets a problem document with Allow", async () => {
    const answer = await exchange(get("/api/health").replace("GET", "PROPFIND"));
    expect(statusOf(answer)).toBe(405);
    expect(answer).toMatch(/^Allow: GET, HEAD, OPTIONS\r$/m);
  });

  test("pipelined requests get their responses in order", async () => {
    const first = get("/api/version").replace("Connection: close\r\n", "");
    const answer = await exchange(`${first}${first}${get("/api/nothing")}`);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "200", "404"]);
  });

  test("HTTP/1.0 gets a whole response and is closed", async () => {
    const answer = await exchange("GET /api/health?probe=live HTTP/1.0\r\n\r\n");
    expect(statusOf(answer)).toBe(200);
    expect(answer).toMatch(/\r\n\r\n\{"status":"ok"\}$/);
  });

  test("an upgrade to HTTP/2 is ignored, and the request gets a response", async () => {
    expect((await service.fetch("/")).status).toBe(200);
    const offer = [
      "Connection: Upgrade, HTTP2-Settings, close",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
    ];
    const answer = await exchange(get("/api/health", ...offer).replace("Connection: close\r\n", ""));
    expect(statusOf(answer)).toBe(200);
  });

  test("Expect: 100-continue gets 100", async () => {
    const body = "{}";
    const head = "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n";
    const answer = await exchange(`${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`, body);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 422 /);
  });

  test("more than 16 KiB of headers are rejected, and 100 KiB affect no other client", async () => {
    expect(statusOf(await exchange(get("/api/health", `X-Long: ${"x".repeat(17 * 1024)}`)))).toBe(431);
    expect(await exchange(get("/api/health", `X-Long: ${"x".repeat(100 * 1024)}`))).not.toContain(" 200 ");
    expect((await service.fetch("/api/health")).status).toBe(200);
  });

  test("input other than HTTP is rejected", async () => {
    expect(statusOf(await exchange("hello\r\n\r\n"))).toBe(400);
  });
});

describe("clients that misbehave", () => {
  test("one that sends a byte a second is disconnected, while others are served", async () => {
    const socket = await open();
    const bytes = [..."GET /api/health HTTP/1.1\r\nX-Slow: ".padEnd(1_000, "x")];
    const timer = setInterval(() => socket.write(bytes.shift() ?? "x"), 1_000);
    socket.on("error", () => {});
    socket.resume();
    expect((await service.fetch("/api/health")).status).toBe(200);
    await once(socket, "close");
    clearInterval(timer);
    expect(bytes.length).toBeGreaterThan(900);
  });

  // ASVS 1.4.3
  test("one that aborts its upload, or its download, leaves nothing open", async () => {
    for (let i = 0; i < 20; i++) {
      for (const target of ["/api/auth/login", "/sign-in"]) {
        const upload = await open();
        upload.write(
          `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{`,
        );
        upload.destroy();
      }
      const download = await open();
      download.write(get("/api/download/macos"));
      await once(download, "data");
      download.destroy();
    }
    await expect.poll(openFiles).toBe(0);
    expect((await service.fetch("/api/health")).status).toBe(200);
    expect(service.output()).not.toContain('"level":60');
  });

  test("one that starts many downloads at once and disconnects leaves nothing open", async () => {
    const greedy = await open();
    greedy.write(get("/api/download/macos").replace("Connection: close\r\n", "").repeat(50));
    await once(greedy, "data");
    greedy.destroy();
    await expect.poll(openFiles).toBe(0);
  });

  test("one that sends pages thousands of parameters waits for no render, and health not for it", async () => {
    await service.fetch("/sign-in"); // Next is loaded
    const greedy = ["/sign-in", "/download", "/register", "/account"].flatMap((path) =>
      Array.from({ length: 5 }, () => exchange(get(`${path}?${"a&".repeat(7_900)}`))),
    );
    expect((await service.fetch("/api/health", { signal: AbortSignal.timeout(500) })).status).toBe(200);
    expect(new Set((await Promise.all(greedy)).map(statusOf))).toEqual(new Set([400]));
  });

  test("one that requests hundreds of pages in one packet is disconnected, and affects no other client", async () => {
    expect(await exchange(get("/docs").replace("Connection: close\r\n", "").repeat(400))).toBe("");
    expect((await service.fetch("/api/health")).status).toBe(200);
  });

  test("one that uploads too much gets a response and is disconnected", async () => {
    const head =
      "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    const chunk = `1000\r\n${" ".repeat(0x1000)}\r\n`;
    const answer = await exchange(head, ...Array<string>(2_000).fill(chunk), "0\r\n\r\n");
    expect(statusOf(answer)).toBe(413);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  test("two thousand idle connections are no burden", async () => {
    const idle = await Promise.all(Array.from({ length: 2_000 }, open));
    expect((await service.fetch("/api/health")).status).toBe(200);
    for (const socket of idle) socket.destroy();
  });
});
