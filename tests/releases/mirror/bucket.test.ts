import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, request } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "@/lib/platform/config";
import { createReleaseMirror, feedObject } from "@/lib/releases/mirror/mirror";
import { openMirrorStore } from "@/lib/releases/mirror/store";
import { ctx } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";
import { hasObjectStorage, type Storage, startObjectStorage } from "@/tests/support/network/object-storage";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";

let storage: Storage;

/** A server in front of the storage, which records what is asked of it. While `isDown`, it responds with 503. */
async function startFront() {
  const front = {
    requests: [] as string[],
    isDown: false,
    url: "",
    hold: async (_request: string) => {},
    rewrite: (xml: string) => xml,
    sent: new EventEmitter(),
  };
  const target = new URL(storage.env.RELEASE_S3_ENDPOINT ?? "");
  const server = createServer((incoming, outgoing) => {
    if (front.isDown) return void incoming.resume().on("end", () => outgoing.writeHead(503).end());
    const { method, url: path, headers } = incoming;
    const asked = `${method} ${decodeURIComponent(path ?? "").replace(/\?.*/, "")}`;
    front.requests.push(asked);
    const { hostname, port } = target;
    const upstream = request({ hostname, port, method, path, headers }, async (response) => {
      await front.hold(asked);
      if (response.headers["content-type"]?.startsWith("application/xml")) {
        const xml = front.rewrite(await text(response));
        return void outgoing.writeHead(response.statusCode ?? 502, { "content-type": "application/xml" }).end(xml);
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing).on("finish", () => front.sent.emit(asked));
    });
    incoming.pipe(upstream);
  });
  front.url = `http://${await listenForTest(server)}`;
  return front;
}

describe.runIf(hasObjectStorage)("a mirror in a bucket", () => {
  beforeAll(async () => {
    storage = await startObjectStorage();
  });
  afterAll(() => storage.close());

  test("has files before the feeds that name them, removes these last, and catches up after an outage", () =>
    withCatalog(async ({ addFile, publish }) => {
      const front = await startFront();
      const { RELEASE_S3_BUCKET: _, ...env }: Record<string, string> = {
        ...storage.env,
        RELEASE_S3_ENDPOINT: front.url,
      };
      const given = loadConfig({ ...env, RELEASE_MIRROR: "s3://releases/mirror" });
      const { DATA_DIR, secrets } = ctx().config;
      const mirror = createReleaseMirror({ ...ctx(), config: { ...given, DATA_DIR, secrets }, allowed: [] });
      if (!mirror) throw new Error("There is no mirror");
      onTestFinished(mirror.close);
      const recorded = async () => {
        await mirror.sync();
        return ctx().db.releaseMirror.findUnique({ where: { location: "s3://releases/mirror" } });
      };
      const settle = () =>
        vi.waitFor(async () => expect(await recorded()).toMatchObject({ pendingFiles: 0, error: null }), 20_000);
      const release = async (version: string) =>
        manifestEntry({ version, artifacts: { update: await addFile(`Acme ${version}.exe`, randomBytes(300_000)) } });
      const [old, next] = [await release("1.0.0"), await release("1.1.0")];
      const base = "mirror/api/updates/core/stable";
      const latest = async () => (await storage.ask("GET", `${base}/latest.yml`)).text();
      const changes = (pattern: RegExp) =>
        front.requests.splice(0).filter((one) => /^(PUT|DELETE)/.test(one) && pattern.test(one));

      await publish(old);
      await settle();
      const put = (name: string) => `PUT /releases/${base}/${name}`;
      const all = /1\.\d\.0\.exe|latest\.yml/;
      expect(changes(all)).toEqual([put("1.0.0/windows-x64/Acme 1.0.0.exe"), put("latest.yml")]);
      const { headers } = await storage.ask("HEAD", `${base}/1.0.0/windows-x64/Acme%201.0.0.exe`);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(headers.get("content-disposition")).toBe('attachment; filename="Acme 1.0.0.exe"');

      front.isDown = true;
      await publish(old, next);
      await vi.waitFor(async () => expect((await recorded())?.error).toContain("status 503"), 20_000);
      expect(await latest()).toContain('version: "1.0.0"');
      front.isDown = false;
      await settle();
      expect(changes(all)).toEqual([put("1.1.0/windows-x64/Acme 1.1.0.exe"), put("latest.yml")]);

      await publish(old, { ...next, yanked: true });
      await settle();
      const removed = `DELETE /releases/${base}/1.1.0/windows-x64/Acme 1.1.0.exe`;
      expect(changes(all)).toEqual([put("latest.yml"), removed]);
      expect(await latest()).toContain('version: "1.0.0"');
    }));

  test("a file that arrives while feeds are written is offered", () =>
    withCatalog(async ({ addFile, publish }) => {
      const front = await startFront();
      const { RELEASE_S3_BUCKET: _, ...env }: Record<string, string> = {
        ...storage.env,
        RELEASE_S3_ENDPOINT: front.url,
      };
      const given = loadConfig({ ...env, RELEASE_MIRROR: "s3://releases/late" });
      const { DATA_DIR, secrets } = ctx().config;
      const mirror = createReleaseMirror({ ...ctx(), config: { ...given, DATA_DIR, secrets }, allowed: [] });
      if (!mirror) throw new Error("There is no mirror");
      onTestFinished(mirror.close);
      const base = "PUT /releases/late/api/updates";
      const [feed, file] = [`${base}/core/stable/releases.linux.json`, `${base}/ops/stable/ops-1.0.0-linux-full.nupkg`];
      const asked = new EventEmitter();
      const [feedAsked, fileSent] = [once(asked, feed), once(front.sent, file)];
      front.hold = async (request) => {
        asked.emit(request);
        if (request === file) await feedAsked;
        if (request !== feed) return;
        await fileSent;
        await storage.ask("HEAD", "late"); // the mirror has read the response meanwhile
      };
      // Nothing else is copied for these later, which would write the feeds again.
      const entry = async (product: string) => {
        const update = await addFile(`${product}-1.0.0-linux-full.nupkg`, randomBytes(1_000), {
          sha1: "ab".repeat(20),
        });
        return manifestEntry({ id: product, product, version: "1.0.0", platform: "linux", artifacts: { update } });
      };
      await publish(await entry("core"), await entry("ops"));
      const isOffered = async () => {
        await mirror.sync();
        expect((await storage.ask("GET", "late/api/updates/ops/stable/releases.linux.json")).status).toBe(200);
      };
      await vi.waitFor(isOffered, 20_000);
    }));

  test("a process that starts sends nothing again but the feeds", () =>
    withCatalog(async ({ addFile, publish }) => {
      await publish(
        manifestEntry({ version: "1.0.0", artifacts: { update: await addFile("Acme.exe", randomBytes(1_000)) } }),
      );
      const front = await startFront();
      const { RELEASE_S3_BUCKET: _, ...env }: Record<string, string> = {
        ...storage.env,
        RELEASE_S3_ENDPOINT: front.url,
      };
      const given = loadConfig({ ...env, RELEASE_MIRROR: "s3://releases/again" });
      const { DATA_DIR, secrets } = ctx().config;
      for (const expected of [["PUT /releases/again/api/updates/core/stable/1.0.0/windows-x64/Acme.exe"], []]) {
        const mirror = createReleaseMirror({ ...ctx(), config: { ...given, DATA_DIR, secrets }, allowed: [] });
        await vi.waitFor(async () => {
          await mirror?.sync();
          const row = await ctx().db.releaseMirror.findUnique({ where: { location: "s3://releases/again" } });
          expect(row).toMatchObject({ pendingFiles: 0, error: null, currentAt: expect.any(Date) });
        }, 20_000);
        await mirror?.close();
        expect(front.requests.splice(0).filter((one) => /^PUT.*Acme/.test(one))).toEqual(expected);
      }
    }));

  // As MinIO and others in Go write them.
  test("a list with numeric entities has the tags and the names that were written", async () => {
    const front = await startFront();
    const numbers: Record<string, string> = { '"': "&#34;", "&quot;": "&#34;", "'": "&#39;", "&apos;": "&#x27;" };
    front.rewrite = (xml) =>
      xml.replace(/(?<=>)[^<]+/g, (content) =>
        content.replace(/["']|&(?:quot|apos);/g, (found) => numbers[found] ?? found),
      );
    const given = loadConfig({
      ...storage.env,
      RELEASE_S3_ENDPOINT: front.url,
      RELEASE_MIRROR: "s3://releases/numbers",
    });
    const { DATA_DIR, secrets } = ctx().config;
    const store = openMirrorStore({ ...given, DATA_DIR, secrets }, ctx().now);
    if (!store) throw new Error("There is no store");
    const feed = feedObject({ text: "a", contentType: "text/plain", links: [] }, ctx().now());
    const name = "core/stable/1.0.0/windows-x64/Bob's & Ann's App.exe";
    const tag = await store.write(name, feed, Readable.from([Buffer.from("a")]));
    expect(tag).toMatch(/^"\w+"$/);
    expect(await store.list()).toEqual(new Map([[name, { sizeBytes: 1, tag }]]));
  });
});
