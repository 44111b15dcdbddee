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
  test("that leave their folder are refused, and odd ones are no server error", async () => {
    const statusAt = async (target: string) => statusOf(await exchange(get(target)));
    expect(await statusAt("/_next/static/%%32%65%%32%65/%%32%65%%32%65/api/health")).toBe(400);
    expect(await statusAt("/api/download/..%2f..%2fetc%2fpasswd")).toBe(404);
    for (const target of [
      "/_next/static/%2e%2e%2fserver%2fapp-paths-manifest.json",
      "/_next/data/x/docs.json",
      "/sign-in?nxtPx=%&x=%ff",
      "/sign-in/%00",
      "/download/%0d%0ax",
      "/%5cevil.example/",
    ]) {
      expect(await statusAt(target)).toBeLessThan(500);
    }
  });
});

describe("the protocol", () => {
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
    for (let i = 0; i < 5; i++) {
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
});
