import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";
import { read } from "@/tests/support/sources";

const MACOS = "platform=macos&product=core&architecture=universal";

describe("the service's own version", () => {
  test("is returned if nothing is selected, whatever else the query contains", async () => {
    for (const query of ["", "?_=123", "?channel=beta&current=1.0.0"]) {
      const response = await get(`/api/version${query}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        kind: "service",
        name: "homeport",
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        apiVersion: "1",
        commit: ctx().config.build.commit,
        builtAt: ctx().config.build.builtAt,
      });
    }
  });

  // ASVS 13.4.6
  test("names the API's version alone, if that is configured", () =>
    withContext({ config: { ...ctx().config, SERVICE_VERSION: "off" } }, async () => {
      expect(await (await get("/api/version")).json()).toEqual({
        kind: "service",
        name: "homeport",
        version: "1",
        apiVersion: "1",
        commit: null,
        builtAt: null,
      });
      expect(JSON.parse(read("public/openapi.json")).info.version).toBe("1");
    }));

  test("is returned without a catalog", () =>
    withCatalog(async ({ catalog }) => {
      const none = { ...catalog, current: () => null };
      await withContext({ catalog: none }, async () => expect((await get("/api/version")).status).toBe(200));
    }));
});

describe("a release", () => {
  test("is the newest stable one, with a URL pinned to it", async () => {
    expect(await getVersion(MACOS)).toEqual({
      status: 200,
      kind: "release",
      platform: "macos",
      product: "core",
      architecture: "universal",
      requestedArchitecture: "universal",
      channel: "stable",
      version: "1.1.0",
      releasedAt: "2026-11-03T09:00:00.000Z",
      notes: "Starts faster.",
      notesUrl: null,
      minimumSupportedVersion: null,
      minimumSystemVersion: null,
      requiresFrom: null,
      updateAvailable: null,
      mandatory: null,
      artifact: {
        fileName: "homeport-core-1.1.0-universal.tar.gz",
        url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=stable&version=1.1.0`,
        sizeBytes: expect.any(Number),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        sha512: expect.stringMatching(/^[\w+/]{86}==$/),
        contentType: "application/gzip",
      },
    });
  });

  test.each([`${WINDOWS}&channel=beta`, WINDOWS, MACOS])("of %s is the one that its URL downloads", async (query) => {
    const { artifact } = await getVersion(query);
    const response = await get(String(artifact.url));
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBe(`"sha256-${artifact.sha256}"`);
    expect((await response.arrayBuffer()).byteLength).toBe(artifact.sizeBytes);
  });

  test("with only an update and with build metadata is the one that its URL downloads", () =>
    withCatalog(async (testCatalog) => {
      const update = await testCatalog.addFile("update.zip", Buffer.from("an update"));
      await testCatalog.publish(manifestEntry({ version: "v2.0.0+7", artifacts: { update } }));
      const release = await getVersion(WINDOWS);
      expect(release.version).toBe("2.0.0+7");
      expect(await (await get(String(release.artifact.url))).text()).toBe("an update");
    }));
});

describe("rejections", () => {
  test("a partial selection, with the missing parameters and their values", async () => {
    expect(await getVersion("platform=windows&architecture=x64")).toMatchObject({
      status: 400,
      code: "invalid_query",
      errors: [{ pointer: "?product", code: "required" }],
      missing: ["product"],
      allowed: { product: ["core", "ops"] },
    });
  });

  test.each([
    ["?platform", "platform=beos&product=core&architecture=x64"],
    ["?product", "platform=windows&product=__proto__&architecture=x64"],
    ["?architecture", "platform=windows&product=core&architecture="],
    ["?channel", `${WINDOWS}&channel=%00`],
    ["?current", `${WINDOWS}&current=latest`],
    ["?current", `${WINDOWS}&current=99999999999999999999.0.0`],
    ["?current", `${WINDOWS}&current=${"1".repeat(300)}.0.0`],
    ["?version", `${WINDOWS}&current=1.0.0&version=1.0.0`],
    ["?current", `${WINDOWS}&current=1.0.0&current=1.0.1`],
  ])("an invalid %s in %s", async (pointer, query) => {
    expect(await getVersion(query)).toMatchObject({ status: 400, code: "invalid_query", errors: [{ pointer }] });
  });

  test("a selection while there is no catalog", () =>
    withCatalog(async ({ catalog }) => {
      await withContext({ catalog: { ...catalog, current: () => null } }, async () => {
        const response = await get(`/api/version?${WINDOWS}`);
        expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
        expect(await response.json()).toMatchObject({ code: "catalog_unavailable" });
      });
    }));
});

describe("caching", () => {
  test.each(["/api/version", `/api/version?${WINDOWS}`])("%s can be revalidated by its ETag", async (path) => {
    const first = await get(path);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(first.headers.get("cache-control")).toBe("public, max-age=60, stale-while-revalidate=300");
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await get(path, { headers: { "if-none-match": known } });
      expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
      expect(again.headers.get("cache-control")).toBe("public, max-age=60, stale-while-revalidate=300");
    }
    expect((await get(path, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  test("the ETag changes with the body, and with nothing else", async () => {
    const etag = async (query: string) => (await get(`/api/version?${query}`)).headers.get("etag");
    expect(await etag(WINDOWS)).toBe(await etag("platform=WIN32&product=Core&architecture=amd64"));
    expect(await etag(`${WINDOWS}&current=0.1.0`)).toBe(await etag(`${WINDOWS}&current=0.2.0`));
    expect(await etag(WINDOWS)).not.toBe(await etag(`${WINDOWS}&current=0.1.0`));
    expect(await etag(WINDOWS)).not.toBe(await etag(MACOS));
  });
});
