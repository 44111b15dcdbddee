import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { openCatalog } from "@/lib/releases/catalog/catalog";
import { get } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import {
  type EntryFields,
  manifestEntry,
  remoteArtifact,
  type TestCatalog,
  withCatalog,
} from "@/tests/support/releases/releases";
import { getVersion } from "@/tests/support/releases/versions";

const LINUX = "platform=linux&product=core&architecture=x64";

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

  test("has a URL for its only file even if that is neither installer nor update", () =>
    withCatalog(async (testCatalog) => {
      const other = await testCatalog.addFile("app.deb", Buffer.from("a package"));
      await testCatalog.publish(linux({ installer: undefined, others: [other] }));
      const { artifact } = await getVersion(LINUX);
      expect(await (await get(String(artifact.url))).text()).toBe("a package");
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

test.each([0.1, 33.3, 99.9])("a rollout may be %d percent", (rollout) =>
  withCatalog(async (testCatalog) => {
    expect(await isRejected(testCatalog, manifestEntry({ rollout }))).toBe(false);
    expect(await isRejected(testCatalog, manifestEntry({ rollout: rollout + 0.05 }))).toBe(true);
  }),
);
