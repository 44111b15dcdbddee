import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { addReleases } from "@/lib/releases/publishing/add";
import { planPrune, pruneReleases, removeReleases } from "@/lib/releases/publishing/remove";
import { signForTauri } from "@/lib/releases/sample/sample-signatures";
import { Release } from "@/lib/releases/schema";
import { canMount, newDisk } from "@/tests/support/process/disk";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import {
  build,
  draftOf,
  expectRejected,
  filesIn,
  NOW,
  newCatalog,
  newFolder,
  promoteReleases,
  publish,
  publishAll,
  releasesOf,
  type TestFolder,
  updateReleases,
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
});

const remove = ({ manifest }: TestFolder, ids: string[], { isForced = false, isDryRun = false } = {}) =>
  removeReleases(manifest, { ids }, { isForced, isDryRun });

const prune = ({ manifest }: TestFolder, options: Partial<Parameters<typeof pruneReleases>[2]> = {}) =>
  pruneReleases(manifest, {}, { isDryRun: false, ...options });

const stored = ({ manifest }: TestFolder) => filesIn(path.dirname(manifest));

describe("removing a release", () => {
  test("that is offered to clients is rejected, unless it is forced", async () => {
    const testFolder = await newCatalog();
    await expectRejected(testFolder, () => remove(testFolder, ["1.4.0"]), { code: "release_in_use" });
    expect((await remove(testFolder, ["1.4.0"], { isForced: true })).releases).toEqual(["core-windows-x64-1.4.0"]);
    expect(await stored(testFolder)).toEqual(["catalog.json"]);
  });

  test("deletes its files, and a dry run only names them", async () => {
    const testFolder = await newCatalog();
    await publish(testFolder, await build(testFolder, "new.exe"), "1.5.0");
    await updateReleases(testFolder.manifest, { ids: ["1.5.0"] }, { yanked: true });
    const before = await stored(testFolder);
    const planned = await remove(testFolder, ["1.5.0"], { isDryRun: true });
    expect(planned).toEqual({
      releases: ["core-windows-x64-1.5.0"],
      files: [expect.stringMatching(/^[0-9a-f]{16}\/new\.exe$/)],
      elsewhere: [],
    });
    expect(await stored(testFolder)).toEqual(before);
    expect(await remove(testFolder, ["1.5.0"])).toEqual(planned);
    expect(await versions(testFolder)).toEqual(["1.4.0"]);
    expect(await stored(testFolder)).toHaveLength(2);
    await expectRejected(testFolder, () => remove(testFolder, ["1.5.0"]), { code: "release_not_found" });
  });

  test("keeps the files that a release of another channel has, and those at URLs", async () => {
    const testFolder = await newFolder();
    const url = "https://cdn.example.com/update.exe";
    const update = { kinds: ["update" as const], destination: { kind: "url" as const, url } };
    const release = { channel: "beta" };
    await publish(testFolder, await build(testFolder, "a.exe"), "1.0.0", { release });
    await promoteReleases(testFolder.manifest, { ids: ["1.0.0"] }, { from: "beta", to: "stable" });
    await publish(testFolder, await build(testFolder, "update.exe"), "1.0.0", { ...update, release });
    const id = "core-windows-x64-1.0.0";
    expect(await remove(testFolder, [id], { isForced: true })).toEqual({ releases: [id], files: [], elsewhere: [url] });
    expect(await verify(testFolder)).toMatchObject([{ problem: null }]);
  });
});

describe("pruning", () => {
  test("keeps a file that another release names by another path", async () => {
    const folder = await newCatalog();
    const manifest = JSON.parse(await readFile(folder.manifest, "utf8"));
    const [one] = manifest.releases;
    const installer = { ...one.artifacts.installer, file: `./${one.artifacts.installer.file}` };
    manifest.releases.push({ ...one, id: "beta", channel: "beta", artifacts: { installer } });
    await writeFile(folder.manifest, JSON.stringify(manifest));
    await remove(folder, ["beta"], { isForced: true });
    expect((await verify(folder)).map(({ problem }) => problem)).toEqual([null]);
  });

  test("deletes what no release has, and nothing that publishing did not store", async () => {
    const testFolder = await newCatalog();
    const folder = path.dirname(testFolder.manifest);
    const kept = ["index.html", "downloads/setup.exe", "0123456789abcde/a.exe", "0123456789ABCDEF/a.exe"];
    const lost = ["0123456789abcdef/a.exe", "0123456789abcdef/a.exe.blockmap"];
    for (const file of [...kept, ...lost]) {
      await mkdir(path.join(folder, path.dirname(file)), { recursive: true });
      await writeFile(path.join(folder, file), "bytes");
    }
    const before = await stored(testFolder);
    const planned = await prune(testFolder, { isDryRun: true });
    expect(planned).toEqual({ releases: [], files: lost, freedBytes: 10, elsewhere: [] });
    expect(await stored(testFolder)).toEqual(before);
    const text = await readFile(testFolder.manifest, "utf8");
    expect(await prune(testFolder)).toEqual(planned);
    expect(await readFile(testFolder.manifest, "utf8")).toBe(text);
    expect(await stored(testFolder)).toHaveLength(before.length - lost.length);
    expect(await verify(testFolder)).toMatchObject([{ problem: null }]);
    expect((await prune(testFolder)).files).toEqual([]);
  });

  test("removes old releases with their files, and publishing goes on", async () => {
    const testFolder = await newFolder();
    const all = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
    for (const version of all) await publish(testFolder, await build(testFolder, `${version}.exe`), version);
    const pruned = prune(testFolder, { keep: 2 });
    const published = publish(testFolder, await build(testFolder, "next.exe"), "1.4.0");
    const [{ releases, files }] = await Promise.all([pruned, published]);
    expect(releases.slice(0, 2).sort()).toEqual(["core-windows-x64-1.0.0", "core-windows-x64-1.1.0"]);
    expect(files).toHaveLength(releases.length);
    expect(await versions(testFolder)).toEqual(expect.arrayContaining(["1.3.0", "1.4.0"]));
    expect((await verify(testFolder)).filter(({ problem }) => problem !== null)).toEqual([]);
  });
});

describe("what pruning removes", () => {
  const now = new Date("2026-11-20T00:00:00Z");
  /** The versions that are removed; the releases are a month apart. */
  const pruned = (limits: object, ...changes: EntryFields[]) => {
    const releases = changes.map((change, i) => {
      const releasedAt = new Date(now.getTime() - (i + 1) * 30 * 86_400_000).toISOString();
      return Release.parse(manifestEntry({ id: String(i), releasedAt, ...change }));
    });
    return planPrune(releases, limits).map(({ version }) => version.version);
  };
  const versionsOf = (...all: string[]) => all.map((version) => ({ version }));

  test("is nothing without a limit", () => {
    expect(pruned({}, ...versionsOf("1.2.0", "1.1.0", "1.0.0"))).toEqual([]);
  });

  test("exceeds the number, the age, or both if both are given", () => {
    const all = versionsOf("1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0");
    const publishedBefore = new Date(now.getTime() - 100 * 86_400_000);
    expect(pruned({ keep: 3 }, ...all)).toEqual(["1.1.0", "1.0.0"]);
    expect(pruned({ publishedBefore }, ...all)).toEqual(["1.1.0", "1.0.0"]);
    expect(pruned({ keep: 4, publishedBefore }, ...all)).toEqual(["1.0.0"]);
    expect(pruned({ keep: 0 }, ...all)).toEqual(["1.3.0", "1.2.0", "1.1.0", "1.0.0"]);
  });

  test("is counted for each platform, architecture and channel", () => {
    const beta = versionsOf("1.2.0-beta.2", "1.2.0-beta.1").map((one) => ({ ...one, channel: "beta" }));
    expect(pruned({ keep: 1 }, ...versionsOf("1.1.0", "1.0.0"), ...beta)).toEqual(["1.0.0", "1.2.0-beta.1"]);
  });

  test.each([
    ["the newest that all clients receive", [{ version: "1.2.0", rollout: 5 }, { version: "1.1.0" }], ["1.0.0"]],
    [
      "a yanked one that a rollback replaces",
      [
        { version: "1.2.0", yanked: true },
        { version: "1.1.0", rollback: true },
      ],
      ["1.0.0"],
    ],
    [
      "the newest for older systems",
      [{ version: "1.2.0", minimumSystemVersion: "13" }, { version: "1.1.0" }],
      ["1.0.0"],
    ],
    [
      "the one before a required version",
      [{ version: "1.2.0", requiresFrom: "1.1.0" }, { version: "1.1.0" }],
      ["1.0.0"],
    ],
    ["a critical one", [{ version: "1.2.0" }, { version: "1.1.0", critical: true }], ["1.0.0"]],
    ["the highest minimum", [{ version: "1.2.0" }, { version: "1.1.0", minimumSupportedVersion: "1.1.0" }], ["1.0.0"]],
    [
      "everything while no release is for all clients",
      [
        { version: "1.2.0", rollout: 5 },
        { version: "1.1.0", yanked: true },
        { version: "1.0.1", rollout: 0 },
      ],
      [],
    ],
  ])("is never %s", (_, releases, expected) => {
    const last = expected.length === 0 ? { version: "1.0.0", rollout: 0 } : { version: "1.0.0" };
    expect(pruned({ keep: 1 }, ...releases, last)).toEqual(expected);
  });

  test("is every sample beside a real release", () => {
    expect(pruned({}, { version: "1.0.0", sample: true }, { version: "1.0.0", id: "real" })).toEqual(["1.0.0"]);
  });
});
