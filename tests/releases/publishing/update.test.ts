import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { listReleases, renderTable } from "@/lib/releases/publishing/list";
import { findNewerServedReleases } from "@/lib/releases/publishing/plan-changes";
import {
  build,
  expectRejected,
  NOW,
  newCatalog,
  newFolder,
  newSamples,
  promoteReleases,
  publish,
  releasesOf,
  type TestFolder,
  updateReleases,
  versions,
} from "@/tests/support/releases/publishing";

describe("a published release", () => {
  test("is yanked, rolled out and rolled back by id, or by product and version on all platforms", async () => {
    const testFolder = await newFolder();
    for (const platform of ["windows", "macos"]) {
      for (const version of ["1.0.0", "1.1.0"]) {
        await publish(testFolder, await build(testFolder, `${platform}-${version}.zip`), version, {
          release: { platform },
        });
      }
    }
    const bad = { product: "core", version: "v1.1.0" };
    expect(await updateReleases(testFolder.manifest, bad, { yanked: true })).toHaveLength(2);
    await updateReleases(testFolder.manifest, { ...bad, platform: "darwin" }, { yanked: false, rollout: 0 });
    await updateReleases(testFolder.manifest, { ids: ["core-windows-x64-1.0.0"] }, { rollback: true });
    expect(
      renderTable(listReleases(await releasesOf(testFolder)))
        .split("\n")
        .map((line) => line.split(/\s\s+/).slice(1, 6)),
    ).toEqual([
      ["PLATFORM", "ARCH", "VERSION", "CHANNEL", "STATE"],
      ["macos", "x64", "1.1.0", "stable", "paused"],
      ["macos", "x64", "1.0.0", "stable", "everyone"],
      ["windows", "x64", "1.1.0", "stable", "yanked"],
      ["windows", "x64", "1.0.0", "stable", "everyone, rollback"],
    ]);
  });

  test("blocks a rollback while it is served, also as a build of another architecture", async () => {
    const testFolder = await newFolder();
    const add = async (version: string, release: object) =>
      (await publish(testFolder, await build(testFolder, `${randomUUID()}.zip`), version, { release })).id;
    const mac = { platform: "macos", architecture: "universal" };
    const back = await add("1.0.0", mac);
    const ahead = [await add("1.1.0", mac), await add("1.1.0", { ...mac, architecture: "arm64" })];
    await add("1.2.0", { ...mac, rollout: 0 });
    await add("1.2.0-beta.1", { ...mac, channel: "beta" });
    await add("1.1.0", {});
    expect(findNewerServedReleases(await releasesOf(testFolder), [back])).toEqual(ahead);
    await updateReleases(testFolder.manifest, { product: "core", version: "1.1.0", platform: "macos" }, { rollout: 0 });
    expect(findNewerServedReleases(await releasesOf(testFolder), [back])).toEqual([]);
  });

  test("changes together with the others or not at all, and never by an incomplete filter", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
    const ids = ["core-windows-x64-1.0.0", "nope"];
    await expect(updateReleases(testFolder.manifest, { ids }, { yanked: true })).rejects.toThrow(
      "no release with id nope",
    );
    const mismatch = { ids: ["core-windows-x64-1.0.0"], platform: "macos" };
    await expect(updateReleases(testFolder.manifest, mismatch, { yanked: true })).rejects.toThrow("no release with id");
    await expect(updateReleases(testFolder.manifest, { product: "core" }, { yanked: true })).rejects.toThrow(
      "Select a release",
    );
    await expect(
      updateReleases(testFolder.manifest, { product: "core", version: "2.0.0" }, { yanked: true }),
    ).rejects.toThrow("no release that matches");
    expect(await releasesOf(testFolder)).toMatchObject([{ yanked: false }]);
  });
});

const BETA = { channel: "beta" };

const promotion = { from: "beta", to: "stable" };

const promote = ({ manifest }: TestFolder, ids: string[], change: object = {}) =>
  promoteReleases(manifest, { ids }, { ...promotion, ...change });

describe("editing a release", () => {
  test("changes its fields, removes them by null, and says what was changed", async () => {
    const testFolder = await newCatalog({ release: { minimumSystemVersion: "10.0" } });
    const id = "core-windows-x64-1.4.0";
    const change = { notes: "Fixed", critical: true, minimumSystemVersion: null, requiresFrom: "1.0.0" };
    expect(await updateReleases(testFolder.manifest, { ids: [id] }, change)).toEqual([{ id, outcome: "changed" }]);
    expect(await releasesOf(testFolder)).toMatchObject([
      { notes: "Fixed", critical: true, minimumSystemVersion: null, requiresFrom: { version: "1.0.0" } },
    ]);
    const before = await readFile(testFolder.manifest, "utf8");
    expect(before).not.toContain("minimumSystemVersion");
    expect(await updateReleases(testFolder.manifest, { ids: ["v1.4.0"] }, change)).toEqual([
      { id, outcome: "unchanged" },
    ]);
    expect(await readFile(testFolder.manifest, "utf8")).toBe(before);
  });

  test("is rejected if it would require itself, or a later version", async () => {
    const folder = await newCatalog();
    for (const requiresFrom of ["1.4.0", "9.0.0"]) {
      const edited = updateReleases(folder.manifest, { ids: ["1.4.0"] }, { requiresFrom });
      await expect(edited).rejects.toThrow(
        `The required version ${requiresFrom} must be older than the release, 1.4.0.`,
      );
    }
  });

  test("by a version changes one product only", async () => {
    const testFolder = await newCatalog();
    await publish(testFolder, await build(testFolder, "ops.exe"), "1.4.0", { release: { product: "ops" } });
    const edit = (filter: object) => updateReleases(testFolder.manifest, { ids: ["1.4.0"], ...filter }, { notes: "x" });
    await expectRejected(testFolder, () => edit({}), "exists in core and ops: select one with --product");
    expect(await edit({ product: "ops" })).toEqual([{ id: "ops-windows-x64-1.4.0", outcome: "changed" }]);
  });
});

describe("promoting a release", () => {
  test("offers the same files on the other channel, and again changes nothing", async () => {
    const testFolder = await newFolder();
    const mac = { ...BETA, platform: "macos", architecture: "universal" };
    const windows = { ...BETA, notes: "Faster", rollout: 10, rollback: true };
    await publish(testFolder, await build(testFolder, "a.exe"), "2.3.0", { release: windows });
    await publish(testFolder, await build(testFolder, "a.zip"), "2.3.0", { release: mac });
    const ids = ["core-windows-x64-2.3.0", "core-macos-universal-2.3.0"];
    const promoted = (outcome: string) => ids.map((from) => ({ id: `${from}-stable`, from, outcome }));
    expect(await promote(testFolder, ["2.3.0"], { rollout: 25 })).toEqual(promoted("added"));
    expect(await promote(testFolder, ["2.3.0"])).toEqual(promoted("unchanged"));
    const [beta, , stable] = await releasesOf(testFolder);
    const fields = { channel: "stable", notes: "Faster", rollout: 25, rollback: false, artifacts: beta?.artifacts };
    expect(stable).toMatchObject({ ...fields, releasedAt: NOW });
    expect(await versions(testFolder)).toHaveLength(4);
  });

  test("is rejected for a prerelease, a yanked one, a sample, and other files", async () => {
    const testFolder = await newSamples();
    const sample = ["core-windows-x64-1.2.0-beta.1"];
    await expectRejected(testFolder, () => promote(testFolder, sample), "is a sample");
    await publish(testFolder, await build(testFolder, "a.exe"), "2.3.0-beta.1", { release: BETA });
    await expectRejected(testFolder, () => promote(testFolder, ["2.3.0-beta.1"]), "is a prerelease");
    await expectRejected(testFolder, () => promote(testFolder, ["2.3.0"]), { code: "release_not_found" });
    expect(await promote(testFolder, ["2.3.0-beta.1"], { to: "nightly", confirmations: { isNew: true } })).toHaveLength(
      1,
    );
    await publish(testFolder, await build(testFolder, "b.exe"), "2.3.0", { release: BETA });
    await publish(testFolder, await build(testFolder, "c.exe"), "2.3.0");
    await expectRejected(testFolder, () => promote(testFolder, ["2.3.0"]), { code: "release_conflict" });
    await updateReleases(testFolder.manifest, { ids: ["2.3.0"], channel: "beta" }, { yanked: true });
    await expectRejected(testFolder, () => promote(testFolder, ["2.3.0"]), { code: "release_yanked" });
  });
});
