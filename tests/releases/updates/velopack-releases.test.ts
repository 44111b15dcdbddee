import { expect, test } from "vitest";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { problemOf } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const nupkg = (fileName: string, change: EntryFields = {}) =>
  remoteArtifact({ fileName, sha1: "ab".repeat(20), sizeBytes: 1000, ...change });

/** A release as `vpk pack` packages it, with deltas from these versions. */
function release(version: string, from: string[] = [], change: EntryFields = {}, suffix = "-linux") {
  const delta = { fileName: `com.acme.app-${version}${suffix}-delta.nupkg`, sizeBytes: 300 };
  const deltas = from.map((one) => nupkg(delta.fileName, { ...delta, from: one }));
  const artifacts = { update: nupkg(`com.acme.app-${version}${suffix}-full.nupkg`), deltas };
  return manifestEntry({ platform: "linux", version, artifacts, ...change });
}

async function assets(name: string, query = "", base = STABLE): Promise<Record<string, unknown>[]> {
  const response = await get(`${base}/releases.${name}.json${query}`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  return (await response.json()).Assets;
}

const names = async (...input: Parameters<typeof assets>) => (await assets(...input)).map(({ FileName }) => FileName);

test("the feed describes the newest package and the deltas from the installed version", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("1.1.0", ["1.0.0"]), release("1.2.0", ["1.1.0"], { notes: "# New" }));
    const [full, ...deltas] = await assets("linux", "?localVersion=1.0.0&id=com.acme.app");
    expect(full).toEqual({
      PackageId: "com.acme.app",
      Version: "1.2.0",
      Type: "Full",
      FileName: "com.acme.app-1.2.0-linux-full.nupkg",
      SHA1: "AB".repeat(20),
      SHA256: "AB".repeat(32),
      Size: 1000,
      NotesMarkdown: "# New",
    });
    expect(deltas).toMatchObject([
      { Type: "Delta", Version: "1.1.0", FileName: "com.acme.app-1.1.0-linux-delta.nupkg" },
      { Type: "Delta", Version: "1.2.0", FileName: "com.acme.app-1.2.0-linux-delta.nupkg" },
    ]);
    expect(await names("linux")).toEqual(["com.acme.app-1.2.0-linux-full.nupkg"]);
  }));

test("Velopack's channel names the platform, the architecture and the channel", () =>
  withCatalog(async ({ publish }) => {
    const beta = { channel: "beta", architecture: "arm64" };
    await publish(
      release("1.0.0"),
      release("1.1.0", [], { architecture: "arm64" }, "-linux-arm64"),
      release("1.2.0-beta.1", [], beta, "-linux-arm64-beta"),
      release("2.0.0", [], { platform: "windows" }, ""),
      release("3.0.0", [], { platform: "macos", architecture: "universal" }, "-osx"),
    );
    expect(await names("linux")).toEqual(["com.acme.app-1.0.0-linux-full.nupkg"]);
    expect(await names("linux-arm64")).toEqual(["com.acme.app-1.1.0-linux-arm64-full.nupkg"]);
    const named = "com.acme.app-1.2.0-beta.1-linux-arm64-beta-full.nupkg";
    expect(await names("linux-arm64-beta")).toEqual([named]);
    expect(await names("linux-arm64", "", "/api/updates/core/beta")).toEqual([named]);
    expect(await names("linux-beta", "?arch=arm64")).toEqual([named]);
    expect(await names("win")).toEqual(["com.acme.app-2.0.0-full.nupkg"]);
    expect(await names("osx")).toEqual(["com.acme.app-3.0.0-osx-full.nupkg"]);
    for (const unknown of ["nightly", "stable-x", "linux-nightly", "linux-sparc", "win-arm64-beta-x"]) {
      const problem = await problemOf(await get(`${STABLE}/releases.${unknown}.json`));
      expect(problem).toMatchObject({ status: 404, code: "release_not_found" });
    }
  }));

test("a channel without a system is of the client's, else of the one that has builds", () =>
  withCatalog(async ({ publish }) => {
    const linux = release("1.0.0", [], {}, "-stable");
    const windows = release("1.1.0", [], { platform: "windows" }, "-stable");
    await publish(linux);
    for (const query of ["", "?os=linux&rid=linux-x64&arch=x64", "?rid=linux.22.04-x64"]) {
      expect(await names("stable", query)).toEqual(["com.acme.app-1.0.0-stable-full.nupkg"]);
    }
    expect((await get(`${STABLE}/releases.stable.json?os=win`)).status).toBe(404);
    await publish(linux, windows);
    expect(await names("stable", "?os=win&rid=win10.0.19045-x64&arch=x64")).toEqual([
      "com.acme.app-1.1.0-stable-full.nupkg",
    ]);
    expect(await names("Stable", "?os=linux")).toEqual(["com.acme.app-1.0.0-stable-full.nupkg"]);
    const problem = await problemOf(await get(`${STABLE}/releases.stable.json`));
    expect(problem).toMatchObject({ status: 404, detail: expect.stringContaining("name one with os") });
  }));

test("a client sends its system's architecture, and gets a build that runs there", () =>
  withCatalog(async ({ publish }) => {
    const build = (architecture: string) =>
      release("1.0.0", [], { platform: "windows", architecture }, `-${architecture}`);
    await publish(build("ia32"));
    expect(await names("win", "?arch=x64&os=win")).toEqual(["com.acme.app-1.0.0-ia32-full.nupkg"]);
    await publish(build("ia32"), build("x64"));
    expect(await names("win", "?arch=arm64&os=win")).toEqual(["com.acme.app-1.0.0-x64-full.nupkg"]);
    expect((await get(`${STABLE}/releases.win-arm64.json?arch=x86`)).status).toBe(200); // arm64 runs x64
    expect(await names("win", "?arch=x86&os=win")).toEqual(["com.acme.app-1.0.0-ia32-full.nupkg"]);
  }));

test("a package whose name has another version is not offered", () =>
  withCatalog(async ({ publish }) => {
    for (const name of ["a-9.0.0-linux-full", "a-2.0.0.1-full", "a-2.0.0-1-full", "-2.0.0-full", "a-2.0.0-delta"]) {
      await publish(release("1.0.0"), release("2.0.0", [], { artifacts: { update: nupkg(`${name}.nupkg`) } }));
      expect(await names("linux")).toEqual(["com.acme.app-1.0.0-linux-full.nupkg"]);
    }
  }));

test("the id that Velopack sends decides on a rollout", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("1.1.0", ["1.0.0"], { rollout: 50, id: "staged" }));
    for (const id of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const [asset] = await assets("linux", `?localVersion=1.0.0&stagingId=${id}`);
      expect(asset?.Version).toBe(rolloutBucket("staged", id) < 50 ? "1.1.0" : "1.0.0");
    }
    expect((await assets("linux", "?localVersion=1.0.0"))[0]?.Version).toBe("1.0.0");
  }));

test("a client that may downgrade is offered an older version only as a rollback", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("2.0.0", [], { yanked: true }));
    expect(await assets("linux", "?localVersion=2.0.0")).toEqual([]);
    await publish(release("1.0.0", [], { rollback: true }), release("2.0.0", [], { yanked: true }));
    expect(await assets("linux", "?localVersion=2.0.0")).toMatchObject([{ Version: "1.0.0", Type: "Full" }]);
  }));
