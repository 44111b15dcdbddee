import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { manifestEntry } from "@/tests/support/releases/entries";
import {
  build,
  filesIn,
  NOW,
  newCatalog,
  newFolder,
  newSamples,
  publish,
  releasesOf,
  updateReleases,
  verify,
  versions,
} from "@/tests/support/releases/publishing";
import { manifestText } from "@/tests/support/releases/releases";

describe("publishing a file", () => {
  test("into an empty folder creates the catalog with the file's size and hashes", async () => {
    const testFolder = await newFolder();
    const bytes = randomBytes(3_000_000);
    const added = await publish(testFolder, await build(testFolder, "Setup 1.4.0.exe", bytes), "v1.4.0", {
      release: { platform: "win32", architecture: "x86_64", notes: "Faster" },
    });
    expect(added).toEqual({ id: "core-windows-x64-1.4.0", outcome: "added", removedSamples: [], notes: [] });
    const [release] = await releasesOf(testFolder);
    expect(release).toMatchObject({ channel: "stable", notes: "Faster", rollout: 100, releasedAt: NOW });
    expect(release?.artifacts.installer).toMatchObject({
      fileName: "Setup 1.4.0.exe",
      contentType: "application/x-msdownload",
      sizeBytes: bytes.byteLength,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      sha512: createHash("sha512").update(bytes).digest("base64"),
    });
    const copy = path.join(path.dirname(testFolder.manifest), release?.artifacts.installer?.file ?? "");
    expect((await readFile(copy)).equals(bytes)).toBe(true);
  });

  test("into the sample catalog removes all samples and their files, even for a version that a sample has", async () => {
    const testFolder = await newSamples();
    await updateReleases(testFolder.manifest, { product: "core", version: "1.0.0" }, { yanked: true });
    const added = await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
    expect(added).toMatchObject({ id: "core-windows-x64-1.0.0", outcome: "added", removedSamples: { length: 10 } });
    expect(await releasesOf(testFolder)).toMatchObject([
      { version: { version: "1.0.0" }, sample: false, yanked: false },
    ]);
    expect((await filesIn(path.dirname(testFolder.manifest))).sort()).toEqual(["catalog.json", "setup.exe"]);
    expect((await publish(testFolder, await build(testFolder, "next.exe"), "1.1.0")).removedSamples).toEqual([]);
  });

  test("removes samples that only their signing key marks as samples", async () => {
    const testFolder = await newSamples();
    await writeFile(
      testFolder.manifest,
      (await readFile(testFolder.manifest, "utf8")).replaceAll('"sample": true,', ""),
    );
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
    expect(await versions(testFolder)).toEqual(["1.0.0"]);
  });

  test("accepts a catalog with a byte order mark, as the service does", async () => {
    const testFolder = await newFolder();
    await mkdir(path.dirname(testFolder.manifest));
    await writeFile(testFolder.manifest, `\ufeff${manifestText([manifestEntry()])}`);
    await publish(testFolder, await build(testFolder, "setup.exe"), "2.0.0");
    expect(await versions(testFolder)).toEqual(["1.0.0", "2.0.0"]);
  });

  test("keeps the permissions of the manifest", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "a.exe"), "1.0.0");
    for (const mode of [0o640, 0o664]) {
      await chmod(testFolder.manifest, mode);
      await publish(testFolder, await build(testFolder, `${mode}.exe`), `1.0.${mode}`);
      expect((await stat(testFolder.manifest)).mode & 0o777).toBe(mode);
    }
  });

  test("replaces the target of a symbolic link, not the link", async () => {
    const testFolder = await newFolder();
    const real = path.join(testFolder.folder, "real.json");
    await writeFile(real, manifestText([manifestEntry()]));
    await mkdir(path.dirname(testFolder.manifest));
    await symlink(real, testFolder.manifest);
    await publish(testFolder, await build(testFolder, "setup.exe"), "2.0.0");
    const written = JSON.parse(await readFile(real, "utf8"));
    expect(written).toMatchObject({ releases: [{ version: "1.0.0" }, { version: "2.0.0" }] });
    expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([null]);
  });

  test("of another kind extends the existing release and updates its fields", async () => {
    const testFolder = await newCatalog({ release: { notes: "First" } });
    const added = await publish(testFolder, await build(testFolder, "update.zip"), "1.4.0", {
      kinds: ["update"],
      release: { rollout: 10 },
    });
    expect(added.outcome).toBe("changed");
    const releases = await releasesOf(testFolder);
    expect(releases).toMatchObject([{ notes: "First", rollout: 10, releasedAt: NOW }]);
    expect([releases[0]?.artifacts.installer?.fileName, releases[0]?.artifacts.update?.fileName]).toEqual([
      "setup.exe",
      "update.zip",
    ]);
  });

  test("again changes nothing, not even the manifest's modification time", async () => {
    const testFolder = await newFolder();
    const file = await build(testFolder, "setup.exe");
    await publish(testFolder, file, "1.4.0", { kinds: ["installer", "update"] });
    await utimes(testFolder.manifest, 1, 1);
    const before = await readFile(testFolder.manifest, "utf8");
    expect((await publish(testFolder, file, "1.4.0", { kinds: ["installer", "update"] })).outcome).toBe("unchanged");
    expect(await readFile(testFolder.manifest, "utf8")).toBe(before);
    expect((await filesIn(path.dirname(testFolder.manifest))).sort()).toEqual(["catalog.json", "setup.exe"]);
  });

  test("again repairs a damaged file in the catalog's folder", async () => {
    const testFolder = await newFolder();
    const file = await build(testFolder, "setup.exe");
    await publish(testFolder, file, "1.4.0");
    const [release] = await releasesOf(testFolder);
    const copy = path.join(path.dirname(testFolder.manifest), release?.artifacts.installer?.file ?? "");
    await writeFile(copy, randomBytes(1000));
    expect((await publish(testFolder, file, "1.4.0")).outcome).toBe("unchanged");
    expect((await readFile(copy)).equals(await readFile(file))).toBe(true);
    expect(await filesIn(path.dirname(testFolder.manifest))).toHaveLength(2);
  });

  test("with a URL changes the location of the existing artifact", async () => {
    const testFolder = await newFolder();
    const file = await build(testFolder, "setup.exe");
    await publish(testFolder, file, "1.4.0");
    await publish(testFolder, file, "1.4.0", {
      destination: { kind: "url", url: "https://cdn.example.com/setup.exe" },
    });
    const [release] = await releasesOf(testFolder);
    expect(release?.artifacts.installer).toMatchObject({ url: "https://cdn.example.com/setup.exe" });
    expect(release?.artifacts.installer?.file).toBeUndefined();
  });
});

describe("concurrent processes", () => {
  test("all publish their releases", async () => {
    const testFolder = await newFolder();
    const all = Array.from({ length: 8 }, (_, i) => `1.${i}.0`);
    await Promise.all(
      all.map(async (version) => publish(testFolder, await build(testFolder, `${version}.exe`), version)),
    );
    expect((await versions(testFolder)).sort()).toEqual(all);
    expect((await verify(testFolder)).filter(({ problem }) => problem !== null)).toEqual([]);
  });

  test("delete interrupted copies after a day", async () => {
    const testFolder = await newFolder();
    const folder = path.dirname(testFolder.manifest);
    await mkdir(folder);
    for (const [name, age] of [
      [".old.part", 2],
      [".new.part", 0],
    ] as const) {
      await writeFile(path.join(folder, name), "half");
      const at = new Date(Date.now() - age * 24 * 60 * 60 * 1000);
      await utimes(path.join(folder, name), at, at);
    }
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0");
    expect((await filesIn(folder)).sort()).toEqual([".new.part", "catalog.json", "setup.exe"]);
  });
});
