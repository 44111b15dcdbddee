import { expect, test } from "vitest";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { expectNoRelease } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const SHA1 = "ab".repeat(20);
const FULL_BYTES = 1000;

const nupkg = (fileName: string, change: EntryFields = {}) =>
  remoteArtifact({ fileName, sha1: SHA1, sizeBytes: FULL_BYTES, ...change });

/** A release as electron-winstaller packages it, with deltas from these versions. */
function release(version: string, from: string[] = [], change: EntryFields = {}, id = "Acme") {
  const deltas = from.map((one) => nupkg(`${id}-${version}-delta.nupkg`, { from: one, sizeBytes: 300 }));
  const artifacts = { update: nupkg(`${id}-${version}-full.nupkg`), deltas };
  return manifestEntry({ version, artifacts, ...change });
}

async function lines(query = "", headers: Record<string, string> = {}) {
  const response = await get(`${STABLE}/RELEASES${query}`, { headers });
  expect(response.status).toBe(200);
  return (await response.text()).trimEnd().split("\n");
}

const full = (version: string) => `${SHA1.toUpperCase()} Acme-${version}-full.nupkg ${FULL_BYTES}`;
const delta = (version: string) => `${SHA1.toUpperCase()} Acme-${version}-delta.nupkg 300`;

test("RELEASES names the newest package by its SHA-1, name and size", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("1.1.0", ["1.0.0"]));
    const response = await get(`${STABLE}/RELEASES`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toBe(`${full("1.1.0")}\n`);
  }));

test("RELEASES has the deltas from the installed version, if they are complete and smaller", () =>
  withCatalog(async ({ publish }) => {
    const chain = [release("1.1.0", ["1.0.0"]), release("1.2.0", ["1.1.0"]), release("1.3.0", ["1.2.0"])];
    await publish(release("1.0.0"), ...chain);
    const of = (version: string) => lines(`?id=Acme&localVersion=${version}&arch=amd64`);
    expect(await of("1.2.0")).toEqual([delta("1.3.0"), full("1.3.0")]);
    expect(await of("1.0.0")).toEqual([delta("1.1.0"), delta("1.2.0"), delta("1.3.0"), full("1.3.0")]);
    expect(await of("0.9.0")).toEqual([full("1.3.0")]);
    await publish(...chain, release("1.4.0", ["1.3.0"]), release("1.0.0"));
    expect(await of("1.0.0")).toEqual([full("1.4.0")]); // four deltas are larger than the package
    expect(await of("1.1.0")).toHaveLength(4);
    await publish(release("1.1.0", ["1.0.0"]), release("1.3.0", ["1.2.0"]));
    expect(await of("1.0.0")).toEqual([full("1.3.0")]); // a delta is missing
  }));

test("a package whose name has another version is not offered", () =>
  withCatalog(async ({ publish }) => {
    const named = (fileName: string, change?: EntryFields) =>
      manifestEntry({ version: "2.0.0", artifacts: { update: nupkg(fileName, change) } });
    for (const lie of [
      named("Acme-9.0.0-full.nupkg"),
      named("Acme-2.0.0-beta1-full.nupkg"),
      named("Acme-2.0.0-delta.nupkg"),
      named("Acme 2-2.0.0-full.nupkg"),
      named("Acme#-2.0.0-full.nupkg"),
      named("Acme-2.0.0-full.nupkg", { sha1: undefined }),
    ]) {
      await publish(release("1.0.0"), lie);
      expect(await lines()).toEqual([full("1.0.0")]);
    }
  }));

test("a prerelease and a fourth number are written as Squirrel reads them", () =>
  withCatalog(async ({ publish }) => {
    const artifacts = { update: nupkg("Acme-1.1.0-beta1-full.nupkg") };
    await publish(manifestEntry({ version: "1.1.0-beta.1", channel: "beta", artifacts }), release("1.0.0"));
    const beta = await get("/api/updates/core/beta/RELEASES?localVersion=1.0.0.7");
    expect(await beta.text()).toBe(`${full("1.1.0-beta1")}\n`);
  }));

test("a client with a newer version is sent its own version, which it does not install", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("2.0.0", [], { yanked: true }));
    const installed = (id: string, version: string) => `${"0".repeat(40)} ${id}-${version}-full.nupkg 1`;
    expect(await lines("?id=Acme&localVersion=2.0.0")).toEqual([installed("Acme", "2.0.0")]);
    expect(await lines("?id=Acme&localVersion=1.0.0.7")).toEqual([installed("Acme", "1.0.0.7")]);
    expect(await lines("?id=A%0aB%23&localVersion=2.0.0-beta1")).toEqual([installed("Acme", "2.0.0-beta1")]);
    await publish(release("1.0.0", [], { rollback: true }), release("2.0.0", [], { yanked: true }));
    expect(await lines("?id=Acme&localVersion=2.0.0")).toEqual([full("1.0.0")]);
  }));

test("a rollout is decided by the client's id, else by the client itself", () =>
  withCatalog(async ({ publish }) => {
    await publish(release("1.0.0"), release("1.1.0", ["1.0.0"], { rollout: 25.9, id: "staged" }));
    expect(await lines("?localVersion=1.0.0")).toEqual([full("1.0.0"), `${full("1.1.0")} # 25%`]);
    for (const id of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const version = rolloutBucket("staged", id) < 25.9 ? "1.1.0" : "1.0.0";
      expect((await lines(`?clientId=${id}`)).at(-1)).toBe(full(version));
    }
    expect(await lines("?localVersion=1.1.0")).toEqual([full("1.1.0")]);
    await publish(release("1.1.0", [], { rollout: 25 }));
    expect(await lines()).toEqual([`${full("1.1.0")} # 25%`]);
  }));

test("the system's architecture decides on the build", () =>
  withCatalog(async ({ publish }) => {
    const build = (architecture: string) => release("1.0.0", [], { architecture }, architecture);
    await publish(build("x64"), build("ia32"), build("arm64"));
    const named = async (arch: string) => /^\S+ (\w+)-/.exec((await lines(`?arch=${arch}`))[0] ?? "")?.[1];
    expect(await Promise.all(["amd64", "x86", "arm64", "x64", "unknown"].map(named))).toEqual([
      "x64",
      "ia32",
      "arm64",
      "x64",
      "x64",
    ]);
    await publish(build("ia32"));
    expect(await named("amd64")).toBe("ia32");
  }));

test("a product without packages has no RELEASES", () =>
  withCatalog(async ({ publish }) => {
    await publish(manifestEntry());
    await expectNoRelease(await get(`${STABLE}/RELEASES`));
  }));
