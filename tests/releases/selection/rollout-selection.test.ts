import { describe, expect, test } from "vitest";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { call, get } from "@/tests/support/api";
import { manifestEntry } from "@/tests/support/releases/entries";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";

const WINDOWS = "platform=windows&product=core&architecture=x64";
const ID = "core-2.0.0";
const [EARLY, LATE] = [clientAt((bucket) => bucket < 50), clientAt((bucket) => bucket >= 50)];
const PRIVATE = "private, no-cache";

function clientAt(wanted: (bucket: number) => boolean): string {
  for (let i = 0; ; i += 1) if (wanted(rolloutBucket(ID, `client-${i}`))) return `client-${i}`;
}

/** 1.0.0 for everybody, 2.0.0 for some. */
async function publish(testCatalog: TestCatalog, rollout: number): Promise<void> {
  const edSignature = `${"C".repeat(86)}==`;
  const update = await testCatalog.addFile("old.exe", Buffer.from("the old one"), { edSignature });
  const next = await testCatalog.addFile("new.exe", Buffer.from("the new one"), { edSignature });
  await testCatalog.publish(
    manifestEntry({ version: "1.0.0", artifacts: { installer: update } }),
    manifestEntry({ id: ID, version: "2.0.0", rollout, artifacts: { installer: next } }),
  );
}

const staged = (client: string) => ({ headers: { "x-user-staging-id": client } });
const version = async (query: string, options?: Parameters<typeof get>[1]) =>
  (await (await get(`/api/version?${WINDOWS}${query}`, options)).json()).version;

describe("while a release is rolled out to half of the clients", () => {
  test("a client gets the same release by header and by parameter, from version, feeds and downloads", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, 50);
      for (const [client, expected, bytes] of [
        [EARLY, "2.0.0", "the new one"],
        [LATE, "1.0.0", "the old one"],
      ] as const) {
        expect(await version("", staged(client))).toBe(expected);
        expect(await version(`&clientId=${client}`)).toBe(expected);
        expect(await version(`&clientId=${client}`, staged("another"))).toBe(expected);
        const feed = await get(`/api/version?${WINDOWS}&format=electron`, staged(client));
        expect(await feed.text()).toContain(`version: "${expected}"`);
        expect(await (await get(`/api/download/windows?clientId=${client}`)).text()).toBe(bytes);
        expect(await (await get("/api/download/windows", staged(client))).text()).toBe(bytes);
      }
    }));

  test("a client without an id gets the newest release for everyone", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, 99);
      expect(await version("")).toBe("1.0.0");
      expect(await version("", staged(""))).toBe("1.0.0");
      expect(await (await get("/api/download/windows")).text()).toBe("the old one");
    }));

  test("a pinned download that falls back to another channel's or architecture's build is cached briefly", () =>
    withCatalog(async (testCatalog) => {
      const installer = await testCatalog.addFile("setup.exe", Buffer.from("a program"));
      const of = (version: string, channel: string) => manifestEntry({ version, channel, artifacts: { installer } });
      await testCatalog.publish(of("1.0.0", "beta"), of("2.0.0", "stable"));
      const cached = async (query: string) => {
        const { status, headers } = await get(`/api/download/windows?${query}`);
        return [status, headers.get("cache-control")];
      };
      for (const query of ["version=1.0.0", "version=2.0.0&channel=beta", "version=2.0.0&architecture=arm64"]) {
        expect(await cached(query)).toEqual([200, "public, max-age=60"]);
      }
      for (const query of ["version=1.0.0&channel=beta", "version=2.0.0"]) {
        expect(await cached(query)).toEqual([200, "public, max-age=31536000, immutable"]);
      }
    }));

  test("shared caches store nothing that depends on the id, and an ETag still saves the body", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, 50);
      const path = `/api/version?${WINDOWS}&clientId=${EARLY}`;
      for (const format of ["", "&format=electron", "&format=sparkle"]) {
        const first = await get(path + format);
        expect(first.headers.get("cache-control")).toBe(PRIVATE);
        const known = { "if-none-match": first.headers.get("etag") ?? "" };
        const again = await get(path + format, { headers: known });
        expect([again.status, again.headers.get("cache-control")]).toEqual([304, PRIVATE]);
        expect((await get(`/api/version?${WINDOWS}&clientId=${LATE}${format}`, { headers: known })).status).toBe(200);
      }
      expect((await get(`/api/version?${WINDOWS}`)).headers.get("cache-control")).toBe(PRIVATE);
      expect((await call("HEAD", "/api/download/windows")).headers.get("cache-control")).toBe(PRIVATE);
    }));
});

describe("a rollout at 0", () => {
  test("reaches no client, stays with clients that have it, and lets shared caches store responses", () =>
    withCatalog(async (testCatalog) => {
      await publish(testCatalog, 0);
      expect(await version("", staged(EARLY))).toBe("1.0.0");
      expect(await version("&current=2.0.0")).toBe("2.0.0");
      expect((await get(`/api/version?${WINDOWS}`)).headers.get("cache-control")).toMatch(/^public/);
    }));
});

describe("a client id", () => {
  test.each(["", "x".repeat(129)])("of %j is rejected as a parameter", async (id) => {
    for (const path of [`/api/version?${WINDOWS}&`, "/api/download/windows?"]) {
      const response = await get(`${path}clientId=${id}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_query", errors: [{ pointer: "?clientId" }] });
    }
  });

  test("in a header that exceeds the maximum length is rejected, and the header is named", async () => {
    for (const path of [`/api/version?${WINDOWS}`, "/api/download/windows"]) {
      const response = await get(path, staged("x".repeat(129)));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ detail: expect.stringContaining("X-User-Staging-Id") });
    }
  });

  test("of the maximum length is accepted", async () => {
    expect(await version("", staged("x".repeat(128)))).toBe("1.1.0");
  });
});
