import { readdir, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { newId } from "@/lib/platform/db/ids";
import { urlSource } from "@/lib/releases/catalog/url-source";
import { newFolder, openForTest, versionsOf } from "@/tests/support/releases/catalogs";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { startOrigin } from "@/tests/support/releases/origin";
import { manifestText } from "@/tests/support/releases/releases";

type Logged = { level: number; msg: string; catalog?: string; releases?: number; err?: { message: string } };

/** Opens the catalog at a URL as a service with this data folder does. */
async function open(RELEASE_CATALOG: string, DATA_DIR: string) {
  const lines: Logged[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const catalog = await openForTest({ RELEASE_CATALOG, DATA_DIR }, log);
  return { catalog, lines, errors: () => lines.filter(({ level }) => level >= 50) };
}

/** Answers with a manifest of one release. With `etag`, 304 to whoever has it already. */
const serve =
  (version: string, etag?: string): RequestListener =>
  (request, response) => {
    if (etag !== undefined && request.headers["if-none-match"] === etag) return response.writeHead(304).end();
    response.writeHead(200, etag === undefined ? {} : { etag });
    response.end(manifestText([manifestEntry({ id: "one", version })]));
  };

describe("a catalog at a URL", () => {
  test("is fetched, and revalidated with its ETag; 304 changes nothing", async () => {
    const origin = await startOrigin(serve("1.0.0", '"a"'));
    const { catalog } = await open(`${origin.url}/catalog.json`, await newFolder());
    expect([catalog.state(), versionsOf(catalog)]).toEqual(["ok", ["1.0.0"]]);
    const before = catalog.current();
    await catalog.refresh();
    expect(origin.asked.map(({ headers }) => headers["if-none-match"])).toEqual([undefined, '"a"']);
    expect(catalog.current()).toBe(before);
    origin.answer(serve("1.1.0", '"b"'));
    await catalog.refresh();
    expect([catalog.state(), versionsOf(catalog)]).toEqual(["ok", ["1.1.0"]]);
  });

  test("without an ETag is revalidated by date, and the same bytes are not a new catalog", async () => {
    const date = "Sun, 01 Nov 2026 10:00:00 GMT";
    const text = manifestText([manifestEntry()]);
    const origin = await startOrigin((_, response) => response.writeHead(200, { "last-modified": date }).end(text));
    const { catalog } = await open(origin.url, await newFolder());
    const before = catalog.current();
    await catalog.refresh();
    expect(origin.asked[1]?.headers["if-modified-since"]).toBe(date);
    expect(catalog.current()).toBe(before);
  });

  test("that becomes invalid keeps the last valid one, logs each error once, and recovers by itself", async () => {
    const origin = await startOrigin(serve("1.0.0", '"good"'));
    const { catalog, errors } = await open(origin.url, await newFolder());
    const breaks: RequestListener[] = [
      (request, response) =>
        request.headers["if-none-match"] === '"bad"'
          ? response.writeHead(304).end()
          : response.writeHead(200, { etag: '"bad"' }).end('{ "schemaVersion": 1,'),
      (request) => request.socket.destroy(),
      (_, response) => response.writeHead(500).end(),
      (_, response) => {
        response.writeHead(200, { "content-length": "1000" }).write("{");
        response.destroy();
      },
    ];
    for (const [i, listener] of breaks.entries()) {
      origin.answer(listener);
      for (let look = 0; look < 3; look++) await catalog.refresh();
      expect([catalog.state(), versionsOf(catalog), errors().length]).toEqual(["warn", ["1.0.0"], i + 1]);
    }
    origin.answer(serve("1.0.0", '"good"'));
    await catalog.refresh();
    expect([catalog.state(), versionsOf(catalog), errors().length]).toEqual(["ok", ["1.0.0"], breaks.length]);
  });

  test("is valid again without a change once its URL is reachable", async () => {
    const origin = await startOrigin(serve("1.0.0", '"a"'));
    const { catalog } = await open(origin.url, await newFolder());
    origin.answer((_, response) => response.writeHead(503).end());
    await catalog.refresh();
    expect(catalog.state()).toBe("warn");
    origin.answer(serve("1.0.0", '"a"'));
    await catalog.refresh();
    expect(catalog.state()).toBe("ok");
  });

  test("has no folder: artifacts in files are omitted with one logged error, the others stay", async () => {
    const file = { installer: remoteArtifact({ url: undefined, file: "setup.exe" }) };
    const origin = await startOrigin((_, response) =>
      response.end(
        manifestText([
          manifestEntry({ version: "1.0.0" }),
          manifestEntry({ version: "1.1.0", artifacts: { ...file, update: remoteArtifact() } }),
          manifestEntry({ version: "1.2.0", artifacts: file }),
        ]),
      ),
    );
    const { catalog, errors } = await open(origin.url, await newFolder());
    expect([catalog.state(), versionsOf(catalog)]).toEqual(["ok", ["1.1.0", "1.0.0"]]);
    expect(errors()).toMatchObject([{ releases: 2 }]);
  });

  test("is never logged with its query, which may contain a secret", async () => {
    const origin = await startOrigin(serve("1.0.0"));
    const { catalog, lines } = await open(`${origin.url}/catalog.json?token=hush`, await newFolder());
    await origin.close();
    await catalog.refresh();
    expect(lines.map(({ catalog }) => catalog)).toEqual([`${origin.url}/catalog.json`, `${origin.url}/catalog.json`]);
    expect(JSON.stringify(lines)).not.toContain("hush");
  });
});

describe("a URL that misbehaves", () => {
  const read = async (listener: RequestListener, timeoutMs?: number) => {
    const origin = await startOrigin(listener);
    return urlSource(origin.url, await newFolder(), timeoutMs).read();
  };

  test("times out if it hangs before or during its response", async () => {
    await expect(read(() => {}, 100)).rejects.toThrow("timed out");
    await expect(read((_, response) => void response.writeHead(200).write("{"), 100)).rejects.toThrow("timed out");
  });

  test("times out if it sends a few bytes at a time", async () => {
    const drip: RequestListener = (_, response) => {
      const timer = setInterval(() => response.write(" "), 5);
      response.on("close", () => clearInterval(timer));
    };
    await expect(read(drip, 100)).rejects.toThrow("timed out");
  });

  // ASVS 5.2.1
  test("is rejected if it sends more than 64 MiB, compressed or not", async () => {
    const chunk = Buffer.alloc(1024 * 1024, " ");
    const endless: RequestListener = (_, response) => {
      const more = () => {
        while (response.writable && response.write(chunk));
      };
      response.on("drain", more);
      more();
    };
    await expect(read(endless)).rejects.toThrow("larger than");
    const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, " "));
    await expect(
      read((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb)),
    ).rejects.toThrow("larger than");
  });

  test.each([
    ["in a circle", "/again", "more than 5 redirects"],
    ["to another machine without https", "http://catalog.example.com/", "not https"],
    ["to a file", "file:///etc/passwd", "not https"],
    ["to an invalid URL", "http://", "no valid Location"],
    // ASVS 15.3.2
  ])("is rejected if it redirects %s", async (_, location, reason) => {
    await expect(read((_request, response) => response.writeHead(302, { location }).end())).rejects.toThrow(reason);
  });

  test("is followed over a few redirects", async () => {
    const found = await read((request, response) => {
      const hops = Number(request.url?.slice(1) || 0);
      if (hops < 5) response.writeHead(307, { location: `/${hops + 1}` }).end();
      else response.end("{}");
    });
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe("{}");
  });
});

describe("a start while the URL is not reachable", () => {
  test("uses the last valid catalog of the same URL, and of no other", async () => {
    const folder = await newFolder();
    const origin = await startOrigin(serve("1.0.0"));
    (await open(origin.url, folder)).catalog.close();
    await origin.close();
    const { catalog, errors } = await open(origin.url, folder);
    expect([catalog.state(), versionsOf(catalog)]).toEqual(["warn", ["1.0.0"]]);
    expect(errors()).toHaveLength(1);
    expect((await open(`${origin.url}/other`, folder)).catalog.state()).toBe("error");
  });

  test("is not delayed by a URL that hangs", async () => {
    const origin = await startOrigin(() => {});
    const { catalog } = await open(origin.url, await newFolder());
    expect([catalog.state(), catalog.current()]).toEqual(["error", null]);
  });

  test("ignores a stored catalog that is invalid", async () => {
    const folder = await newFolder();
    const origin = await startOrigin(serve("1.0.0"));
    (await open(origin.url, folder)).catalog.close();
    const [kept = ""] = await readdir(path.join(folder, "releases"));
    await writeFile(path.join(folder, "releases", kept), "{");
    const { catalog, errors } = await open(origin.url, folder);
    expect([catalog.state(), versionsOf(catalog), errors().length]).toEqual(["ok", ["1.0.0"], 1]);
  });

  test("uses a whole catalog, of one of two instances that stored theirs in one folder at the same time", async () => {
    const folder = await newFolder();
    const url = "https://catalog.example.com/";
    const sources = [urlSource(url, folder), urlSource(url, folder)];
    const texts = ["short", "long".repeat(100_000)];
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        sources.map((source, i) => source.writeCached?.({ bytes: Buffer.from(texts[i] ?? ""), root: null })),
      );
      expect(texts).toContain(String((await sources[0]?.readCached?.())?.bytes));
      expect(await readdir(folder)).toHaveLength(1);
    }
  });

  test("does not keep what an instance that was killed has left of storing a catalog", async () => {
    const folder = await newFolder();
    const source = urlSource("https://catalog.example.com/", folder);
    const store = () => source.writeCached?.({ bytes: Buffer.from("{}"), root: null });
    await store();
    const stored = await readdir(folder);
    const left = `${stored[0]}.${newId()}.tmp`;
    for (const name of [left, "of-another.json.tmp"]) await writeFile(path.join(folder, name), "{");
    await store();
    expect(await readdir(folder)).toContain(left); // it may be written now
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * 60 * 60 * 1000 });
    await store();
    expect((await readdir(folder)).sort()).toEqual([...stored, "of-another.json.tmp"].sort());
  });
});
