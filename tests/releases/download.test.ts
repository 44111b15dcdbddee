import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { withContext } from "@/tests/support/context";
import {
  type EntryFields,
  manifestEntry,
  openDescriptors,
  remoteArtifact,
  type TestCatalog,
  withCatalog,
} from "@/tests/support/releases/releases";
import { callsHandlers, contentLength } from "@/tests/support/server";

const WINDOWS = "/api/download/windows";
/** More than all the buffers between a file and a client that does not read. */
const LARGE = randomBytes(32 * 1024 * 1024);
const BYTES = Buffer.from("0123456789");
const MODIFIED = new Date("2026-11-01T10:00:00.500Z");

/** Runs `run` with a release whose installer holds `bytes`. */
function withFile(
  bytes: Buffer,
  run: (testCatalog: TestCatalog & { file: string; etag: string }) => Promise<void>,
  change?: EntryFields,
) {
  return withCatalog(async (testCatalog) => {
    const installer = await testCatalog.addFile("setup.exe", bytes, change);
    const file = path.join(testCatalog.folder, "setup.exe");
    await utimes(file, MODIFIED, MODIFIED);
    await testCatalog.publish(manifestEntry({ artifacts: { installer } }));
    await run({ ...testCatalog, file, etag: `"sha256-${installer.sha256}"` });
  });
}

const problem = async (response: Response) => {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
};

describe("a whole file", () => {
  test.each([
    ["/api/download/windows", "homeport-core-1.1.0-x64.exe"],
    ["/api/download/macos", "homeport-core-1.1.0-universal.tar.gz"],
    ["/api/download/macos?product=ops", "homeport-ops-1.1.0-universal.tar.gz"],
    ["/api/download/Win32?product=CORE&architecture=AMD64", "homeport-core-1.1.0-x64.exe"],
    ["/api/download/macos?architecture=arm64", "homeport-core-1.1.0-universal.tar.gz"],
    ["/api/download/windows?version=v1.0.0", "homeport-core-1.0.0-x64.exe"],
    ["/api/download/windows?channel=beta", "homeport-core-1.2.0-beta.1-x64.exe"],
    ["/api/download/windows?version=1.2.0-beta.1&channel=beta", "homeport-core-1.2.0-beta.1-x64.exe"],
    ["/api/download/windows?version=1.2.0-beta.1", "homeport-core-1.2.0-beta.1-x64.exe"],
    ["/api/download/windows?kind=update&_=1", "homeport-core-1.1.0-x64.exe"],
  ])("%s sends %s with correct headers", async (url, fileName) => {
    const response = await get(url);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "accept-ranges": "bytes",
      "content-disposition": `attachment; filename=${fileName}`,
      etag: `"sha256-${createHash("sha256").update(bytes).digest("hex")}"`,
      "last-modified": expect.stringMatching(/ GMT$/),
      "repr-digest": `sha-512=:${createHash("sha512").update(bytes).digest("base64")}:`,
      "x-content-type-options": "nosniff",
    });
    expect(response.headers.get("content-length")).toBe(contentLength(bytes.byteLength));
  });

  test("is cached for a year if the version is pinned, else for a minute", () =>
    withFile(BYTES, async () => {
      const caching = async (url: string) => (await get(url)).headers.get("cache-control");
      expect(await caching(`${WINDOWS}?version=1.0.0`)).toBe("public, max-age=31536000, immutable");
      expect(await caching(WINDOWS)).toBe("public, max-age=60");
    }));

  test("of several chunks is sent whole, and its file is closed afterwards", () => {
    const bytes = randomBytes(300_001);
    return withFile(bytes, async ({ file }) => {
      expect(Buffer.from(await (await get(WINDOWS)).arrayBuffer()).equals(bytes)).toBe(true);
      expect(await openDescriptors(file)).toBe(0);
    });
  });

  test("has the catalog's media type, else one that a browser does not open", async () => {
    await withFile(BYTES, async () => {
      expect((await get(WINDOWS)).headers.get("content-type")).toBe("application/octet-stream");
    });
    await withFile(
      BYTES,
      async () => expect((await get(WINDOWS)).headers.get("content-type")).toBe("application/x-msdownload"),
      { contentType: "application/x-msdownload" },
    );
  });

  test("keeps a name beyond ASCII (RFC 6266)", () =>
    withFile(
      BYTES,
      async () =>
        expect((await get(WINDOWS)).headers.get("content-disposition")).toBe(
          `attachment; filename="Gr??e \\"1\\".exe"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.exe`,
        ),
      { fileName: 'Größe "1".exe' },
    ));

  test("at another URL is a redirect, for HEAD too", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        manifestEntry({ artifacts: { installer: remoteArtifact({ url: "https://cdn.example.com/größe" }) } }),
      );
      for (const method of ["GET", "HEAD"]) {
        const response = await call(method, `${WINDOWS}?version=1.0.0`);
        expect([response.status, response.headers.get("location")]).toEqual([
          302,
          "https://cdn.example.com/gr%C3%B6%C3%9Fe",
        ]);
        expect(response.headers.get("cache-control")).toBe("public, max-age=60");
      }
    }));
});

describe("a range", () => {
  test.each([
    ["bytes=0-0", "0", "0-0"],
    ["bytes=2-4", "234", "2-4"],
    ["bytes=7-", "789", "7-9"],
    ["bytes=-3", "789", "7-9"],
    ["bytes=5-99", "56789", "5-9"],
    ["bytes=-99", "0123456789", "0-9"],
    [`bytes=9-${"9".repeat(400)}`, "9", "9-9"],
    [`bytes=-${"9".repeat(400)}`, "0123456789", "0-9"],
    ["Bytes= 1-2 ,", "12", "1-2"],
  ])("%s is sent alone", (range, text, sent) =>
    withFile(BYTES, async ({ file, etag }) => {
      const response = await get(WINDOWS, { headers: { range } });
      expect([response.status, await response.text()]).toEqual([206, text]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-range": `bytes ${sent}/10`,
        etag,
        "repr-digest": `sha-512=:${createHash("sha512").update(BYTES).digest("base64")}:`,
      });
      expect(response.headers.get("content-length")).toBe(contentLength(text.length));
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );

  test.each(["bytes=10-", "bytes=10-20", "bytes=-0", `bytes=${"9".repeat(400)}-`])(
    "%s is outside the file and gets its size",
    (range) =>
      withFile(BYTES, async () => {
        const response = await get(WINDOWS, { headers: { range } });
        expect(response.headers.get("content-range")).toBe("bytes */10");
        expect(await problem(response)).toEqual([416, "range_not_satisfiable"]);
      }),
  );

  test.each([
    "bytes=0-1,4-5",
    "bytes=4-2",
    "bytes=",
    "bytes=-",
    "bytes=a-b",
    "bytes=1",
    "bytes=0x1-2",
    "bytes=-1-2",
    "lines=0-1",
    "0-1",
  ])("%s is not a single range, so the whole file is sent", (range) =>
    withFile(BYTES, async () => {
      const response = await get(WINDOWS, { headers: { range } });
      expect([response.status, response.headers.get("content-range"), await response.text()]).toEqual([
        200,
        null,
        "0123456789",
      ]);
    }),
  );

  test("is sent only if If-Range matches the file", () =>
    withFile(BYTES, async ({ etag }) => {
      const status = async (ifRange: string) =>
        (await get(WINDOWS, { headers: { range: "bytes=0-1", "if-range": ifRange } })).status;
      expect(await status(etag)).toBe(206);
      expect(await status("Sun, 01 Nov 2026 10:00:00 GMT")).toBe(206);
      for (const other of [
        '"other"',
        `W/${etag}`,
        "Sun, 01 Nov 2026 10:00:01 GMT",
        "Sun, 01 Nov 2026 09:59:59 GMT",
        "nonsense",
        "",
      ]) {
        expect(await status(other)).toBe(200);
      }
    }));

  test("is ignored if If-Range names the previous file", () =>
    withFile(BYTES, async ({ etag, addFile: put, publish }) => {
      const headers = { range: "bytes=5-", "if-range": etag };
      expect(await (await get(WINDOWS, { headers })).text()).toBe("56789");
      await publish(manifestEntry({ artifacts: { installer: await put("setup.exe", Buffer.from("9876543210")) } }));
      const response = await get(WINDOWS, { headers });
      expect([response.status, await response.text()]).toEqual([200, "9876543210"]);
    }));

  test("outside the file is ignored if If-Range names another file", () =>
    withFile(BYTES, async () => {
      const headers = { range: "bytes=50-", "if-range": '"other"' };
      expect((await get(WINDOWS, { headers })).status).toBe(200);
    }));
});

describe("a copy that the client has", () => {
  test.each<[string, (etag: string) => Record<string, string>, number]>([
    ["its ETag", (etag) => ({ "if-none-match": etag }), 304],
    ["its ETag, weakly", (etag) => ({ "if-none-match": `W/${etag}` }), 304],
    ["a list with its ETag", (etag) => ({ "if-none-match": `"a,b", W/"c", ${etag}` }), 304],
    ["any", () => ({ "if-none-match": "*" }), 304],
    ["another ETag", () => ({ "if-none-match": '"other"' }), 200],
    ["an ETag without quotes", (etag) => ({ "if-none-match": etag.slice(1, -1) }), 200],
    ["its date", () => ({ "if-modified-since": "Sun, 01 Nov 2026 10:00:00 GMT" }), 304],
    ["its date in RFC 850's form", () => ({ "if-modified-since": "Sunday, 01-Nov-26 10:00:00 GMT" }), 304],
    ["its date in asctime's form", () => ({ "if-modified-since": "Sun Nov  1 10:00:00 2026" }), 304],
    ["an older date", () => ({ "if-modified-since": "Sun, 01 Nov 2026 09:59:59 GMT" }), 200],
    ["no date", () => ({ "if-modified-since": "yesterday" }), 200],
    [
      "another ETag and its date",
      () => ({ "if-none-match": '"a"', "if-modified-since": "Sun, 01 Nov 2026 10:00:00 GMT" }),
      200,
    ],
    ["its ETag and a range", (etag) => ({ "if-none-match": etag, range: "bytes=50-" }), 304],
  ])("identified by %s gets 304 or the file", (_, headers, status) =>
    withFile(BYTES, async ({ etag }) => {
      const response = await get(WINDOWS, { headers: headers(etag) });
      expect(response.status).toBe(status);
      expect(response.headers.get("etag")).toBe(etag);
      expect(await response.text()).toBe(status === 304 ? "" : "0123456789");
    }),
  );
});

describe("a client that requires one file", () => {
  test.each<[string, (etag: string) => Record<string, string>, number]>([
    ["its ETag", (etag) => ({ "if-match": etag }), 200],
    ["a list with its ETag", (etag) => ({ "if-match": `"a", ${etag}` }), 200],
    ["any", () => ({ "if-match": "*" }), 200],
    ["its ETag, weakly", (etag) => ({ "if-match": `W/${etag}` }), 412],
    ["another ETag", () => ({ "if-match": '"other"' }), 412],
    ["another ETag and a range", () => ({ "if-match": '"other"', range: "bytes=0-1" }), 412],
    ["another ETag, of a copy it has", (etag) => ({ "if-match": '"other"', "if-none-match": etag }), 412],
    ["its date", () => ({ "if-unmodified-since": "Sun, 01 Nov 2026 10:00:00 GMT" }), 200],
    ["an older date", () => ({ "if-unmodified-since": "Sun, 01 Nov 2026 09:59:59 GMT" }), 412],
    ["no date", () => ({ "if-unmodified-since": "yesterday" }), 200],
    [
      "its ETag and an older date",
      (etag) => ({ "if-match": etag, "if-unmodified-since": "Sun, 01 Nov 2026 09:59:59 GMT" }),
      200,
    ],
  ])("by %s gets that file or 412", (_, headers, status) =>
    withFile(BYTES, async ({ file, etag }) => {
      const response = await get(WINDOWS, { headers: headers(etag) });
      if (status === 412) expect(await problem(response)).toEqual([412, "precondition_failed"]);
      else expect([response.status, await response.text()]).toEqual([200, "0123456789"]);
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );
});

describe("an open file", () => {
  test("is closed when the download is aborted, before and after its first bytes", () =>
    withFile(LARGE, async ({ file }) => {
      await (await get(WINDOWS)).body?.cancel();
      await expect.poll(() => openDescriptors(file)).toBe(0);
      const reader = (await get(WINDOWS)).body?.getReader();
      await reader?.read();
      await expect.poll(() => openDescriptors(file)).toBe(1);
      await reader?.cancel();
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  test("is closed when the download is aborted in the middle of a read", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const reader = (await get(WINDOWS)).body?.getReader();
      await reader?.read();
      const [read] = await Promise.all([reader?.read(), reader?.cancel()]);
      expect(read?.done).toBe(true);
      await expect.poll(() => openDescriptors(file)).toBe(0);
      expect(errors).toEqual([]);
    }));

  test("is not left open by HEAD, which has GET's headers", () =>
    withFile(BYTES, async ({ file }) => {
      const [head, got] = [await call("HEAD", WINDOWS, { headers: { range: "bytes=0-1" } }), await get(WINDOWS)];
      expect([head.status, head.body, head.headers.get("content-length")]).toEqual([200, null, contentLength(10)]);
      await got.body?.cancel();
      const headers = (response: Response) => {
        const { "x-request-id": _, "transfer-encoding": __, ...rest } = Object.fromEntries(response.headers);
        return rest;
      };
      expect(headers(head)).toEqual(headers(got));
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  // A server sends the first bytes at once, whether anybody reads them or not.
  test.runIf(callsHandlers)("is not opened for a response that is never read", () =>
    withFile(BYTES, async ({ file }) => {
      const unread = await get(WINDOWS);
      expect([unread.status, await openDescriptors(file)]).toEqual([200, 0]);
    }),
  );

  test("that is replaced is sent to its end unchanged", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const response = await get(WINDOWS);
      const reader = response.body?.getReader();
      const first = await reader?.read();
      await writeFile(`${file}.new`, Buffer.alloc(LARGE.byteLength, "x"));
      await rename(`${file}.new`, file);
      const hash = createHash("sha256").update(first?.value ?? "");
      for (let next = await reader?.read(); !next?.done; next = await reader?.read()) hash.update(next?.value ?? "");
      expect(hash.digest("hex")).toBe(createHash("sha256").update(LARGE).digest("hex"));
      expect(errors).toEqual([]);
    }));

  test("that is overwritten aborts the download before its last bytes, so that no client accepts a mixture", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const reader = (await get(WINDOWS)).body?.getReader();
      let bytes = (await reader?.read())?.value?.byteLength ?? 0;
      await writeFile(file, Buffer.alloc(LARGE.byteLength, "x"));
      const rest = async () => {
        for (let next = await reader?.read(); !next?.done; next = await reader?.read()) {
          bytes += next?.value?.byteLength ?? 0;
        }
      };
      await expect(rest()).rejects.toThrow();
      expect(bytes).toBeLessThan(LARGE.byteLength);
      expect(errors).toMatchObject([{ err: { message: expect.stringMatching(/overwritten|truncated/) } }]);
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  test("that is truncated aborts the download with an error and is closed", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const reader = (await get(WINDOWS)).body?.getReader();
      await reader?.read();
      await truncate(file, 70_000);
      const rest = async () => {
        while (!(await reader?.read())?.done);
      };
      await expect(rest()).rejects.toThrow();
      await expect.poll(() => openDescriptors(file)).toBe(0);
      expect(errors).toMatchObject([{ err: { message: expect.stringContaining("truncated") } }]);
    }));

  test.runIf(callsHandlers)("that is replaced before its first byte is not sent", () =>
    withFile(BYTES, async ({ file }) => {
      const response = await get(WINDOWS);
      await writeFile(file, "another");
      await expect(response.text()).rejects.toThrow();
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );
});

describe("rejections", () => {
  const unusable: [string, (file: string) => Promise<unknown>][] = [
    ["missing", unlink],
    ["shorter than the catalog says", (file) => truncate(file, 9)],
    ["longer than the catalog says", (file) => writeFile(file, "0123456789+")],
    ["written over by one of the same size", (file) => writeFile(file, "9876543210")],
    [
      "overwritten by one of the same size and time",
      (file) => writeFile(file, "9876543210").then(() => utimes(file, MODIFIED, MODIFIED)),
    ],
    [
      "replaced by one of the same size and time",
      async (file) => {
        await writeFile(`${file}.new`, "9876543210");
        await utimes(`${file}.new`, MODIFIED, MODIFIED);
        await rename(`${file}.new`, file);
      },
    ],
    ["out of the file system's reach", (file) => unlink(file).then(() => symlink("setup.exe", file))],
    [
      "a folder",
      async (file) => {
        await unlink(file);
        await mkdir(file);
      },
    ],
  ];
  test.each(unusable)("a file that is %s: 503 with one logged error until it is restored", (_, spoil) =>
    withFile(BYTES, async ({ file, errors }) => {
      for (const times of [1, 2]) {
        expect(await (await get(WINDOWS)).text()).toBe("0123456789");
        await spoil(file);
        const response = await get(WINDOWS);
        expect(response.headers.get("retry-after")).toBe("60");
        expect(await problem(response)).toEqual([503, "artifact_unavailable"]);
        expect((await get(WINDOWS, { headers: { range: "bytes=0-1" } })).status).toBe(503);
        expect((await call("HEAD", WINDOWS)).status).toBe(503);
        expect(errors).toHaveLength(times);
        await rm(file, { recursive: true, force: true });
        await writeFile(file, BYTES);
        await utimes(file, MODIFIED, MODIFIED);
      }
    }),
  );

  test("a file that was overwritten before this process first read it", () =>
    withCatalog(async (testCatalog) => {
      const installer = await testCatalog.addFile("setup.exe", BYTES);
      await writeFile(path.join(testCatalog.folder, "setup.exe"), "9876543210");
      await testCatalog.publish(manifestEntry({ artifacts: { installer } }));
      expect(await problem(await get(WINDOWS))).toEqual([503, "artifact_unavailable"]);
      expect(testCatalog.errors).toMatchObject([
        { err: { message: expect.stringContaining("SHA-256 differs from the catalog's") } },
      ]);
    }));

  test("a file replaced by a link out of the folder after the catalog was read", () =>
    withFile(BYTES, async ({ file, errors }) => {
      const outside = await mkdtemp(path.join(tmpdir(), "homeport-outside-"));
      await writeFile(path.join(outside, "secret"), BYTES);
      await unlink(file);
      await symlink(path.join(outside, "secret"), file);
      expect(await problem(await get(WINDOWS))).toEqual([503, "artifact_unavailable"]);
      expect(errors).toHaveLength(1);
      await rm(outside, { recursive: true });
    }));

  test("a file without read permission", () =>
    withFile(BYTES, async ({ file }) => {
      await chmod(file, 0o000);
      const isRoot = process.getuid?.() === 0;
      if (isRoot) process.seteuid?.(65534); // root may read everything
      const response = await get(WINDOWS).finally(() => isRoot && process.seteuid?.(0));
      expect(await problem(response)).toEqual([503, "artifact_unavailable"]);
    }));

  test.each(["linux", "constructor", "..%2f", "windows%2f..%2f..%2fcatalog.json", "%00"])(
    "the platform %s with 404",
    async (platform) => {
      expect(await problem(await get(`/api/download/${platform}`))).toEqual([404, "not_found"]);
    },
  );

  test.each([
    "product=nope",
    "architecture=ppc",
    "channel=nope",
    "kind=source",
    "version=latest",
    "product=",
    "product=../../etc",
    "product=core&product=ops",
    "version=1.0.0&version=1.1.0",
  ])("the query %s", async (query) => {
    expect(await problem(await get(`${WINDOWS}?${query}`))).toEqual([400, "invalid_query"]);
  });

  test.each([
    "version=9.9.9",
    "version=1.2.0-beta.1&channel=stable",
    "architecture=universal",
    "product=ops&version=1.2.0-beta.1",
  ])("the query %s, which matches no release", async (query) => {
    expect(await problem(await get(`${WINDOWS}?${query}`))).toEqual([404, "release_not_found"]);
  });

  test("a yanked release, even by its version, and a kind that the selected release does not have", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "1.1.0", yanked: true }), manifestEntry({ version: "1.0.0" }));
      expect(await problem(await get(`${WINDOWS}?version=1.1.0`))).toEqual([404, "release_not_found"]);
      expect(await problem(await get(`${WINDOWS}?version=1.0.0&kind=update`))).toEqual([404, "release_not_found"]);
    }));

  test("everything while there is no catalog", () =>
    withCatalog(async ({ catalog }) =>
      withContext({ catalog: { ...catalog, current: () => null } }, async () => {
        expect(await problem(await get(WINDOWS))).toEqual([503, "catalog_unavailable"]);
      }),
    ));
});
