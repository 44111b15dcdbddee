import { expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { problemOf } from "@/tests/support/releases/feeds";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const NOT_FOUND = { status: 404, code: "release_not_found" };
const IMMUTABLE = "public, max-age=31536000, immutable";

async function entryWith({ addFile }: TestCatalog, fileName: string, text: string, change: object = {}) {
  const update = { ...(await addFile(`${text}.bin`, Buffer.from(text))), fileName };
  return manifestEntry({ artifacts: { update }, ...change });
}

test("a file is found by its name, by version, and by version and build target", () =>
  withCatalog(async (testCatalog) => {
    await testCatalog.publish(await entryWith(testCatalog, "Acme + 1.0.0 (%).exe", "bytes"));
    const name = encodeURIComponent("Acme + 1.0.0 (%).exe");
    for (const path of [name, `1.0.0/${name}`, `1.0.0/windows-x64/${name}`]) {
      const response = await get(`${STABLE}/${path}`);
      expect([response.status, await response.text()]).toEqual([200, "bytes"]);
      expect(response.headers.get("cache-control")).toBe(path.includes("windows") ? IMMUTABLE : "public, max-age=60");
    }
    const part = await get(`${STABLE}/${name}`, { headers: { range: "bytes=1-2" } });
    expect([part.status, await part.text()]).toEqual([206, "yt"]);
    const head = await call("HEAD", `${STABLE}/${name}`);
    expect([head.status, await head.text(), head.headers.get("accept-ranges")]).toEqual([200, "", "bytes"]);
  }));

test("a name that several releases use leads to a file only with the version and build target", () =>
  withCatalog(async (testCatalog) => {
    const arm64 = { architecture: "arm64" };
    await testCatalog.publish(
      await entryWith(testCatalog, "setup.exe", "old"),
      await entryWith(testCatalog, "setup.exe", "new", { version: "1.1.0" }),
      await entryWith(testCatalog, "setup.exe", "arm", { version: "1.1.0", ...arm64 }),
    );
    expect(await problemOf(await get(`${STABLE}/setup.exe`))).toMatchObject(NOT_FOUND);
    expect(await (await get(`${STABLE}/1.0.0/setup.exe`)).text()).toBe("old");
    expect(await problemOf(await get(`${STABLE}/1.1.0/setup.exe`))).toMatchObject(NOT_FOUND);
    expect(await (await get(`${STABLE}/1.1.0/windows-arm64/setup.exe`)).text()).toBe("arm");
    expect(await (await get(`${STABLE}/1.1.0/win32-x64/setup.exe`)).text()).toBe("new");
    expect(await (await get(`${STABLE}/1.1.0/setup.exe?arch=AArch64`)).text()).toBe("arm");
  }));

test("a channel's own file comes before the stable one, which a channel also has but not for ever", () =>
  withCatalog(async (testCatalog) => {
    const beta = "/api/updates/core/beta/1.0.0/windows-x64/setup.exe";
    const stable = await entryWith(testCatalog, "setup.exe", "stable");
    await testCatalog.publish(stable);
    const before = await get(beta);
    expect([await before.text(), before.headers.get("cache-control")]).toEqual(["stable", "public, max-age=60"]);
    await testCatalog.publish(stable, await entryWith(testCatalog, "setup.exe", "beta", { channel: "beta" }));
    const after = await get(beta);
    expect([await after.text(), after.headers.get("cache-control")]).toEqual(["beta", IMMUTABLE]);
    expect(await (await get(`${STABLE}/setup.exe`)).text()).toBe("stable");
  }));

test("a block map is beside its file", () =>
  withCatalog(async ({ addFile, publish }) => {
    const { file, sizeBytes, sha256 } = await addFile("map.gz", Buffer.from("gzip"));
    const update = await addFile("setup.exe", Buffer.from("bytes"), { blockMap: { file, sizeBytes, sha256 } });
    const elsewhere = { url: "https://cdn.example.com/map", sizeBytes, sha256 };
    const zip = remoteArtifact({ fileName: "a.zip", blockMap: elsewhere });
    await publish(
      manifestEntry({ artifacts: { update } }),
      manifestEntry({ platform: "macos", artifacts: { update: zip } }),
    );
    for (const path of ["setup.exe.blockmap", "1.0.0/windows-x64/setup.exe.blockmap"]) {
      const response = await get(`${STABLE}/${path}`);
      expect([response.status, await response.text()]).toEqual([200, "gzip"]);
      expect(response.headers.get("content-disposition")).toContain("setup.exe.blockmap");
    }
    const response = await get(`${STABLE}/a.zip.blockmap`);
    expect([response.status, response.headers.get("location")]).toEqual([302, elsewhere.url]);
  }));

test("a file that is stored elsewhere is redirected to, a yanked one is not found", () =>
  withCatalog(async ({ publish }) => {
    const update = remoteArtifact({ fileName: "a.exe" });
    const yanked = manifestEntry({
      version: "2.0.0",
      yanked: true,
      artifacts: { update: { ...update, fileName: "b.exe" } },
    });
    await publish(manifestEntry({ artifacts: { update } }), yanked);
    const response = await get(`${STABLE}/a.exe`);
    expect([response.status, response.headers.get("location")]).toEqual([302, "https://cdn.example.com/setup.exe"]);
    expect(await problemOf(await get(`${STABLE}/b.exe`))).toMatchObject(NOT_FOUND);
  }));

test.each([
  ["an unknown channel", "/api/updates/core/nightly/latest.yml"],
  ["an unknown file", `${STABLE}/unknown.zip`],
  ["another version", `${STABLE}/9.9.9/windows-x64/setup.exe`],
  ["a path of four segments", `${STABLE}/1.0.0/windows-x64/a/setup.exe`],
])("%s is not found", (_, path) =>
  withCatalog(async ({ publish }) => {
    await publish(manifestEntry());
    expect(await problemOf(await get(path))).toMatchObject(NOT_FOUND);
  }),
);

test.each([
  ["a channel that leads elsewhere", "/api/updates/core/..%2fx/latest.yml"],
  ["a file with an encoded slash", `${STABLE}/..%2f..%2fcatalog.json`],
  ["a file with an encoded NUL", `${STABLE}/a%00.exe`],
  ["a path of nine segments", `${STABLE}/${"a/".repeat(8)}a`],
])("%s is not found, whatever the catalog has", async (_, path) => {
  expect(await problemOf(await get(path))).toMatchObject({ status: 404, code: "not_found" });
});

test("a client id of 10,000 characters and an invalid version are refused", async () => {
  const headers = { "x-user-staging-id": "a".repeat(10_000) };
  expect(await problemOf(await get(`${STABLE}/latest.yml`, { headers }))).toMatchObject({ status: 400 });
  const problem = await problemOf(await get(`${STABLE}/RELEASES?localVersion=x`));
  expect(problem).toMatchObject({ status: 400, errors: [{ pointer: "?localVersion" }] });
  const both = await problemOf(await get(`${STABLE}/RELEASES?localVersion=1.0.0&current=1.0.0`));
  expect(both).toMatchObject({ status: 400, errors: [{ pointer: "?localVersion", code: "repeated" }] });
});
