import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { BYTES, statusAndCode, WINDOWS, withFile } from "@/tests/support/releases/downloads";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { openDescriptors, withCatalog } from "@/tests/support/releases/releases";
import { contentLength } from "@/tests/support/server";

describe("a whole file", () => {
  test.each([
    ["/api/download/windows", "homeport-core-1.1.0-x64.exe"],
    ["/api/download/macos", "homeport-core-1.1.0-universal.tar.gz"],
    ["/api/download/Win32?product=CORE&architecture=AMD64", "homeport-core-1.1.0-x64.exe"],
    ["/api/download/macos?architecture=arm64", "homeport-core-1.1.0-universal.tar.gz"],
    ["/api/download/windows?version=v1.0.0", "homeport-core-1.0.0-x64.exe"],
    ["/api/download/windows?channel=beta", "homeport-core-1.2.0-beta.1-x64.exe"],
    ["/api/download/windows?version=1.2.0-beta.1", "homeport-core-1.2.0-beta.1-x64.exe"],
    ["/api/download/windows?kind=update&_=1", "homeport-core-1.1.0-x64.exe"],
    // ASVS 5.4.1, 5.4.2
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

  // ASVS 3.2.1
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

  // ASVS 1.1.2, 1.2.1, 1.2.3, 5.4.1, 5.4.2
  test("keeps a name beyond ASCII (RFC 6266)", () =>
    withFile(
      BYTES,
      async () =>
        expect((await get(WINDOWS)).headers.get("content-disposition")).toBe(
          `attachment; filename="Grosse _1_.exe"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.exe`,
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

describe("a copy that the client has", () => {
  test.each<[string, (etag: string) => Record<string, string>, number]>([
    ["its ETag", (etag) => ({ "if-none-match": etag }), 304],
    ["its ETag, weakly", (etag) => ({ "if-none-match": `W/${etag}` }), 304],
    ["any", () => ({ "if-none-match": "*" }), 304],
    ["another ETag", () => ({ "if-none-match": '"other"' }), 200],
    ["its date", () => ({ "if-modified-since": "Sun, 01 Nov 2026 10:00:00 GMT" }), 304],
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
    ["any", () => ({ "if-match": "*" }), 200],
    ["its ETag, weakly", (etag) => ({ "if-match": `W/${etag}` }), 412],
    ["another ETag", () => ({ "if-match": '"other"' }), 412],
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
      if (status === 412) expect(await statusAndCode(response)).toEqual([412, "precondition_failed"]);
      else expect([response.status, await response.text()]).toEqual([200, "0123456789"]);
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );
});
