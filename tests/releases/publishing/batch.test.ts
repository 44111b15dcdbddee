import { randomBytes } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { addReleases } from "@/lib/releases/publishing/add";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { signForTauri } from "@/lib/releases/sample/sample-signatures";
import { canMount, newDisk } from "@/tests/support/process/disk";
import {
  build,
  draftOf,
  expectRejected,
  filesIn,
  NOW,
  newCatalog,
  newFolder,
  publish,
  publishAll,
  releasesOf,
  type TestFolder,
  verify,
  versions,
} from "@/tests/support/releases/publishing";

/** Drafts of one version for Windows and macOS. */
async function drafts(testFolder: TestFolder, version: string) {
  const mac = { platform: "macos", architecture: "universal" };
  const windows = draftOf(await build(testFolder, `${version}.exe`), version);
  const zip = await build(testFolder, `${version}.zip`);
  return [windows, draftOf(zip, version, { release: mac, kinds: ["update"] })];
}

describe("a release of several platforms", () => {
  test("is published in one write, and again changes nothing", async () => {
    const testFolder = await newFolder();
    const both = await drafts(testFolder, "2.0.0");
    const ids = ["core-windows-x64-2.0.0", "core-macos-universal-2.0.0"];
    expect((await publishAll(testFolder, both)).releases).toEqual(ids.map((id) => ({ id, outcome: "added" })));
    expect((await publishAll(testFolder, both)).releases).toEqual(ids.map((id) => ({ id, outcome: "unchanged" })));
    expect(await versions(testFolder)).toEqual(["2.0.0", "2.0.0"]);
    expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([null, null]);
  });

  test("has an installer and an update from one draft", async () => {
    const testFolder = await newFolder();
    const draft = draftOf(await build(testFolder, "setup.exe"), "1.0.0");
    const update = { file: await build(testFolder, "update.exe"), kinds: ["update" as const] };
    await publishAll(testFolder, [{ ...draft, files: [...draft.files, update] }]);
    const [release] = await releasesOf(testFolder);
    expect([release?.artifacts.installer?.fileName, release?.artifacts.update?.fileName]).toEqual([
      "setup.exe",
      "update.exe",
    ]);
    const twice = { ...draft, files: [...draft.files, { ...update, kinds: ["installer" as const] }] };
    await expectRejected(testFolder, () => publishAll(testFolder, [twice]), "are both the installer");
  });

  test("is rejected as a whole if one of its files is", async () => {
    const testFolder = await newCatalog();
    const [windows, mac] = await drafts(testFolder, "1.5.0");
    if (!windows || !mac) throw new Error("Two drafts were expected");
    const faults = [
      [{ ...mac, files: [{ file: path.join(testFolder.folder, "nope.zip"), kinds: ["update"] }] }, "file_unreadable"],
      [{ ...mac, release: { ...mac.release, rollout: 101 } }, "release_invalid"],
      [{ ...mac, release: { ...mac.release, channel: "satble" } }, "confirmation_required"],
      [draftOf(await build(testFolder, "other.exe"), "1.4.0"), "release_conflict"],
      [draftOf(await build(testFolder, "another.exe"), "1.5.0"), "release_conflict"],
    ] as const;
    for (const [fault, code] of faults) {
      await expectRejected(testFolder, () => publishAll(testFolder, [windows, fault]), { code });
    }
    expect(await versions(testFolder)).toEqual(["1.4.0"]);
  });

  test("is published by one of two processes that publish it at once, and the other gets an error", async () => {
    const testFolder = await newFolder();
    const both = [await drafts(testFolder, "1.0.0"), await drafts(testFolder, "1.0.0")];
    const [first = [], second = []] = both;
    for (const [i, { files }] of second.entries()) {
      const file = await build(testFolder, `second-${i}${i === 0 ? ".exe" : ".zip"}`, randomBytes(2000));
      second[i] = { ...(second[i] ?? { release: {}, files: [] }), files: files.map((one) => ({ ...one, file })) };
    }
    const ended = await Promise.allSettled([first, second].map((all) => publishAll(testFolder, all)));
    const failed = ended.filter((one) => one.status === "rejected");
    expect(failed).toMatchObject([{ reason: { code: "release_conflict" } }]);
    expect(await versions(testFolder)).toEqual(["1.0.0", "1.0.0"]);
    expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([null, null]);
    expect(await filesIn(path.dirname(testFolder.manifest))).toHaveLength(3);
  });

  // ext4 in a loop device; .ci/run runs as root.
  test.runIf(canMount)("is not published if the disk fills up, and is when it has space again", async () => {
    const testFolder = await newFolder();
    const disk = await newDisk(24);
    const manifestFile = path.join(disk.folder, "releases", "catalog.json");
    await mkdir(path.dirname(manifestFile));
    const deps = { manifestFile, storage: null, now: () => NOW };
    await addReleases(deps, [draftOf(await build(testFolder, "old.exe"), "0.9.0")]);
    const before = await filesIn(path.dirname(manifestFile));
    const both = [
      draftOf(await build(testFolder, "setup.exe", randomBytes(1_000_000)), "1.0.0"),
      draftOf(await build(testFolder, "ops.exe", randomBytes(3_000_000)), "1.0.0", { release: { product: "ops" } }),
    ];
    await disk.leaveFree(2_000_000);
    await expect(addReleases(deps, both)).rejects.toMatchObject({ code: "disk_full" });
    expect(await filesIn(path.dirname(manifestFile))).toEqual(before);
    await disk.freeAll();
    expect((await addReleases(deps, both)).releases).toHaveLength(2);
    expect(await versions({ ...testFolder, manifest: manifestFile })).toEqual(["0.9.0", "1.0.0", "1.0.0"]);
  });
});

describe("a sample", () => {
  test("is not published, not by its field and not by its key", async () => {
    const testFolder = await newCatalog();
    const bytes = randomBytes(1000);
    const file = await build(testFolder, "next.exe", bytes);
    const artifact = { minisign: signForTauri(bytes, "file:next.exe") };
    await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0", { artifact }), "which anyone can use");
    await expectRejected(
      testFolder,
      () => publish(testFolder, file, "1.5.0", { release: { sample: true } }),
      "cannot be published as a sample",
    );
  });

  test("is removed by a rejected publication neither from the catalog nor from the disk", async () => {
    const testFolder = await newFolder();
    await writeSampleCatalog(testFolder.manifest);
    const before = await readFile(testFolder.manifest, "utf8");
    const all = await drafts(testFolder, "1.0.0");
    await rm(all[1]?.files[0]?.file ?? "");
    await expect(publishAll(testFolder, all)).rejects.toMatchObject({ code: "file_unreadable" });
    expect(await readFile(testFolder.manifest, "utf8")).toBe(before);
    expect((await verify(testFolder)).filter(({ problem }) => problem !== null)).toEqual([]);
  });
});
