import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, rm, symlink, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { openCatalog } from "@/lib/releases/catalog/catalog";
import { get } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { newFolder, openForTest, versionsOf } from "@/tests/support/releases/catalogs";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { manifestText, type TestCatalog, withCatalog } from "@/tests/support/releases/releases";
import { getVersion } from "@/tests/support/releases/versions";

/** The state of a catalog, its versions, and how many errors were logged. */
const stateOf = ({ catalog, errors }: TestCatalog) => [catalog.state(), versionsOf(catalog), errors.length];

describe("following the manifest", () => {
  // ASVS 16.3.4
  test("while the manifest is invalid, the last valid catalog stays and each error is logged once", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "1.0.0" }));
      expect([testCatalog.catalog.state(), versionsOf(testCatalog.catalog)]).toEqual(["ok", ["1.0.0"]]);
      await testCatalog.publishText('{ "schemaVersion": 1, "releases": [');
      await testCatalog.catalog.refresh();
      expect(stateOf(testCatalog)).toEqual(["warn", ["1.0.0"], 1]);
      await testCatalog.publish(manifestEntry({ version: "not a version" }));
      expect(stateOf(testCatalog)).toEqual(["warn", ["1.0.0"], 2]);
      await testCatalog.publish(manifestEntry({ version: "1.1.0" }));
      expect(stateOf(testCatalog)).toEqual(["ok", ["1.1.0"], 2]);
    }));

  test("a snapshot in use does not change", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "1.0.0" }));
      const before = testCatalog.catalog.current();
      await testCatalog.publish(manifestEntry({ version: "1.1.0" }));
      expect(before?.releasesByChannel.get("windows/core/x64/stable")).toMatchObject([
        { version: { version: "1.0.0" } },
      ]);
      expect(testCatalog.catalog.current()).not.toBe(before);
    }));

  test("an unchanged manifest is not read again", () =>
    withCatalog(async (testCatalog) => {
      const before = testCatalog.catalog.current();
      await testCatalog.catalog.refresh();
      expect(testCatalog.catalog.current()).toBe(before);
    }));

  test.each<[string, (manifest: string) => Promise<unknown> | unknown]>([
    ["a folder", (manifest) => mkdir(manifest)],
    ["a pipe that nobody writes to", (manifest) => execFileSync("/usr/bin/mkfifo", [manifest])],
  ])("a manifest replaced by %s is reported with one logged error until it is a file again", (_, make) =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry());
      await unlink(testCatalog.manifest);
      await make(testCatalog.manifest);
      await testCatalog.catalog.refresh();
      await testCatalog.catalog.refresh();
      expect(stateOf(testCatalog)).toEqual(["warn", ["1.0.0"], 1]);
      await rm(testCatalog.manifest, { recursive: true, force: true });
      await testCatalog.publish(manifestEntry({ version: "1.1.0" }));
      expect([testCatalog.catalog.state(), versionsOf(testCatalog.catalog)]).toEqual(["ok", ["1.1.0"]]);
    }),
  );

  test("there is no catalog until a manifest exists", async () => {
    const folder = await newFolder();
    const manifest = path.join(folder, "catalog.json");
    const catalog = await openForTest({ RELEASE_CATALOG: manifest });
    expect([catalog.state(), catalog.current()]).toEqual(["error", null]);
    await writeFile(manifest, manifestText([manifestEntry()]));
    await catalog.refresh();
    expect([catalog.state(), versionsOf(catalog)]).toEqual(["ok", ["1.0.0"]]);
  });
});

describe("rejections", () => {
  const id = randomUUID();
  const withInstaller = (change: EntryFields) =>
    manifestText([manifestEntry({ artifacts: { installer: remoteArtifact(change) } })]);
  test.each([
    ["two releases of one id", manifestText([manifestEntry({ id }), manifestEntry({ id, version: "2.0.0" })])],
    ["another schema version", JSON.stringify({ schemaVersion: 2, releases: [] })],
    ["no JSON object", "[]"],
    ["a rollout above 100", manifestText([manifestEntry({ rollout: 101 })])],
    ["an artifact without a location", withInstaller({ url: undefined })],
    ["an artifact with two locations", withInstaller({ file: "a" })],
    ["a URL that is neither http nor https", withInstaller({ url: "file:///etc/passwd" })],
    ["a file name with a line break", withInstaller({ fileName: "a\r\nb" })],
    ["a media type with a line break", withInstaller({ contentType: "a/b\r\nc: d" })],
    ["more than 64 MiB", `${manifestText([manifestEntry()])}${" ".repeat(64 * 1024 * 1024)}`],
  ])("a manifest with %s is rejected as a whole, with one logged error", (_, text) =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(manifestEntry({ version: "0.9.0" }));
      await testCatalog.publishText(text);
      expect(stateOf(testCatalog)).toEqual(["warn", ["0.9.0"], 1]);
    }),
  );

  test.each(["/etc/passwd", "sub/../../secret", "sub\\..\\..\\secret", "nul\0byte"])(
    // ASVS 1.3.3, 5.3.2
    "an artifact at %j is omitted with one logged error; the others stay",
    (file) =>
      withCatalog(async (testCatalog) => {
        const climbing = remoteArtifact({ url: undefined, file });
        await testCatalog.publish(
          manifestEntry({ version: "1.0.0" }),
          manifestEntry({ version: "1.1.0", artifacts: { installer: climbing, update: remoteArtifact() } }),
          manifestEntry({ version: "1.2.0", artifacts: { installer: climbing } }),
        );
        expect(stateOf(testCatalog)).toEqual(["ok", ["1.1.0", "1.0.0"], 2]);
      }),
  );

  test("artifacts in an object storage that is not configured are omitted with one logged error", () =>
    withCatalog(async (testCatalog) => {
      const stored = remoteArtifact({ url: undefined, s3Key: "core/setup.exe" });
      await testCatalog.publish(
        manifestEntry({ version: "1.0.0" }),
        manifestEntry({ version: "1.1.0", artifacts: { installer: stored, update: stored } }),
        manifestEntry({ version: "1.2.0", artifacts: { installer: stored } }),
      );
      expect([testCatalog.catalog.state(), versionsOf(testCatalog.catalog)]).toEqual(["ok", ["1.0.0"]]);
      expect(testCatalog.errors).toMatchObject([{ releases: 2 }]);
    }));

  test("an artifact linked outside the folder is omitted; one linked inside it stays", () =>
    withCatalog(async (testCatalog) => {
      const outside = await newFolder();
      await writeFile(path.join(outside, "secret"), "secret");
      await symlink(path.join(outside, "secret"), path.join(testCatalog.folder, "link"));
      await symlink(outside, path.join(testCatalog.folder, "linked-folder"));
      const inside = await testCatalog.addFile("real", Buffer.from("real"));
      await symlink("real", path.join(testCatalog.folder, "alias"));
      const at = (file: string) => ({ installer: { ...inside, file } });
      await testCatalog.publish(
        manifestEntry({ version: "1.0.0", artifacts: at("alias") }),
        manifestEntry({ version: "1.1.0", artifacts: at("link") }),
        manifestEntry({ version: "1.2.0", artifacts: at("linked-folder/secret") }),
      );
      expect(versionsOf(testCatalog.catalog)).toEqual(["1.0.0"]);
      expect(testCatalog.errors).toHaveLength(2);
    }));
});

/** A Linux release with an AppImage and these further files. */
const linux = (artifacts: EntryFields, change: EntryFields = {}) =>
  manifestEntry({
    platform: "linux",
    artifacts: { installer: remoteArtifact({ fileName: "App.AppImage" }), ...artifacts },
    ...change,
  });

const isRejected = async ({ publish, catalog }: TestCatalog, release: EntryFields) => {
  await publish(release);
  return catalog.state() !== "ok";
};

describe("a release with several files", () => {
  test("serves each of them by its name", () =>
    withCatalog(async (testCatalog) => {
      const others = [
        await testCatalog.addFile("app.deb", Buffer.from("a package")),
        await testCatalog.addFile("app.rpm", Buffer.from("another")),
      ];
      const delta = await testCatalog.addFile("1-2.delta", Buffer.from("a difference"), { from: "0.9.0" });
      await testCatalog.publish(linux({ others, deltas: [delta] }));
      const download = async (file: string) => (await get(`/api/download/linux?version=1.0.0&file=${file}`)).text();
      expect(await Promise.all(["app.deb", "app.rpm", "1-2.delta"].map(download))).toEqual([
        "a package",
        "another",
        "a difference",
      ]);
      expect((await get("/api/download/linux?version=1.0.0&file=app.exe")).status).toBe(404);
    }));

  test("requires the version beside a file's name, because names differ between versions", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(linux({}));
      const response = await get("/api/download/linux?file=App.AppImage");
      expect([response.status, await response.json()]).toMatchObject([400, { missing: ["version"] }]);
    }));

  test("is rejected if two of them have one name", () =>
    withCatalog(async (testCatalog) => {
      const twice = remoteArtifact({ fileName: "App.AppImage" });
      const delta = { ...remoteArtifact({ fileName: "a.delta" }), from: "0.9.0" };
      expect(await isRejected(testCatalog, linux({ others: [twice] }))).toBe(true);
      expect(await isRejected(testCatalog, linux({ deltas: [delta, delta] }))).toBe(true);
      expect(await isRejected(testCatalog, linux({ update: twice, deltas: [delta] }))).toBe(false);
    }));

  test("is rejected if a block map has no location or a delta no origin", () =>
    withCatalog(async (testCatalog) => {
      const blockMap = { sizeBytes: 10, sha256: "ab".repeat(32) };
      const installer = (change: EntryFields) => ({
        installer: remoteArtifact({ blockMap: { ...blockMap, ...change } }),
      });
      expect(await isRejected(testCatalog, linux(installer({})))).toBe(true);
      expect(await isRejected(testCatalog, linux(installer({ file: "a.blockmap" })))).toBe(false);
      expect(await isRejected(testCatalog, linux({ deltas: [remoteArtifact({ fileName: "a.delta" })] }))).toBe(true);
    }));

  test("loses only the files outside the catalog's folder", () =>
    withCatalog(async (testCatalog) => {
      const climbing = (fileName: string) => remoteArtifact({ url: undefined, file: "../secret", fileName });
      const kept = await testCatalog.addFile("app.deb", Buffer.from("a package"));
      const others = [
        climbing("app.rpm"),
        { ...kept, blockMap: { file: "../map", sizeBytes: 1, sha256: "ab".repeat(32) } },
      ];
      await testCatalog.publish(linux({ others, deltas: [{ ...climbing("a.delta"), from: "0.9.0" }] }));
      const [release] = testCatalog.catalog.current()?.releasesByChannel.get("linux/core/x64/stable") ?? [];
      expect(release?.artifacts.others.map(({ fileName, blockMap }) => [fileName, blockMap])).toEqual([
        ["app.deb", undefined],
      ]);
      expect(release?.artifacts.deltas).toEqual([]);
      expect(testCatalog.errors).toHaveLength(2);
    }));
});

test("a prerelease on stable is served, with a warning", () =>
  withCatalog(async (testCatalog) => {
    const warnings: unknown[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(JSON.parse(line)) });
    await testCatalog.publish(manifestEntry({ id: "early", version: "2.0.0-beta.1" }));
    expect(await getVersion("platform=windows&product=core&architecture=x64")).toMatchObject({
      version: "2.0.0-beta.1",
    });
    const catalog = await openCatalog({ ...ctx().config, RELEASE_CATALOG: testCatalog.manifest }, log);
    catalog.close();
    expect(warnings).toMatchObject([{ examples: ["early"], msg: expect.stringContaining("prereleases") }]);
  }));

test("a rollout has tenths of a percent", () =>
  withCatalog(async (testCatalog) => {
    expect(await isRejected(testCatalog, manifestEntry({ rollout: 99.9 }))).toBe(false);
    expect(await isRejected(testCatalog, manifestEntry({ rollout: 99.95 }))).toBe(true);
  }));
