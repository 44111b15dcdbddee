import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { listReleases, renderTable } from "@/lib/releases/publishing/list";
import { findNewerServedReleases, updateReleases } from "@/lib/releases/publishing/update";
import { build, newFolder, publish, releasesOf } from "@/tests/support/releases/publishing";

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
