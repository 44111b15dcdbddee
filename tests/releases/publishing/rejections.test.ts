import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { changeManifest, readManifest } from "@/lib/releases/publishing/manifest-file";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import {
  build,
  type Change,
  expectRejected,
  newCatalog,
  newFolder,
  newSamples,
  publish,
  releasesOf,
  updateReleases,
  versions,
} from "@/tests/support/releases/publishing";
import { manifestText } from "@/tests/support/releases/releases";

describe("a rejection changes nothing", () => {
  test("for a file in a yanked release", async () => {
    const testFolder = await newCatalog();
    await updateReleases(testFolder.manifest, { ids: ["core-windows-x64-1.4.0"] }, { yanked: true });
    const file = await build(testFolder, "update.zip");
    await expectRejected(testFolder, () => publish(testFolder, file, "1.4.0", { kinds: ["update"] }), "is yanked");
  });

  const refused = (release: object, reason: string) => ["1.5.0", { release }, reason] as const;
  test.each<[string, string, Change, string]>([
    ["other bytes under a published version", "1.4.0", {}, "with other bytes"],
    ["a version that the service would reject", ...refused({ version: "latest" }, "- version: ")],
    ["a platform that the service would reject", ...refused({ platform: "beos" }, "- platform: ")],
    ["a URL that the service would reject", ...refused({ notesUrl: "javascript:alert(1)" }, "- notesUrl: ")],
    ["the id of another release", ...refused({ id: "core-windows-x64-1.4.0" }, "Two releases")],
  ])("for %s", async (_, version, change, reason) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    await expectRejected(testFolder, () => publish(testFolder, file, version, change), reason);
  });

  test("for an empty file, a folder and a missing file", async () => {
    const testFolder = await newCatalog();
    for (const [file, reason] of [
      [await build(testFolder, "empty.exe", Buffer.alloc(0)), "not a regular file"],
      [testFolder.folder, "not a regular file"],
      [path.join(testFolder.folder, "nope.exe"), "cannot be read"],
    ] as const) {
      await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0"), reason);
    }
  });

  test("while the catalog is invalid", async () => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    await writeFile(testFolder.manifest, '{ "schemaVersion": 1, "releases": [');
    await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0"), "cannot be used");
  });

  test("for a change that the service would reject", async () => {
    const testFolder = await newCatalog();
    const twice = () =>
      changeManifest(testFolder.manifest, ({ entries }) => ({ entries: [...entries, ...entries], result: null }));
    await expectRejected(testFolder, twice, "Two releases");
  });
});

describe("a likely mistake", () => {
  test.each([
    ["product", { product: "cor" }],
    ["architecture", { architecture: "x46" }],
    ["channel", { channel: "satble" }],
  ])("is a new %s, which needs a confirmation", async (name, release) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    const reason = new RegExp(`no ${name} .* --new`, "s");
    await expectRejected(testFolder, () => publish(testFolder, file, "1.5.0", { release }), reason);
    await publish(testFolder, file, "1.5.0", { release, confirmations: { isNew: true } });
    await publish(testFolder, await build(testFolder, "newer.exe"), "1.6.0", { release });
    expect(await versions(testFolder)).toEqual(["1.4.0", "1.5.0", "1.6.0"]);
  });

  test.each(["1.5.0", "1.6.0"])("is a delta from %s for 1.5.0, which is always rejected", async (from) => {
    const testFolder = await newCatalog();
    const delta = await build(testFolder, "Example.delta");
    const publishing = () => publish(testFolder, delta, "1.5.0", { kinds: ["delta"], from });
    const reason = `Example.delta is a delta from ${from}, which is not older than 1.5.0`;
    await expectRejected(testFolder, publishing, reason);
  });

  test("is not the first product, samples aside", async () => {
    const testFolder = await newSamples();
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0", { release: { product: "studio" } });
    expect(await releasesOf(testFolder)).toMatchObject([{ product: "studio" }]);
  });

  test("is a prerelease on stable, which needs a confirmation", async () => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    for (const release of [{}, { channel: "stable" }]) {
      const publishing = () => publish(testFolder, file, "1.5.0-beta.1", { release });
      await expectRejected(testFolder, publishing, "confirm with --prerelease");
    }
    await publish(testFolder, file, "1.5.0-beta.1", { confirmations: { isPrerelease: true } });
    await publish(testFolder, await build(testFolder, "beta.exe"), "1.6.0-beta.1", { release: { channel: "beta" } });
    expect((await publish(testFolder, file, "1.5.0-beta.1")).outcome).toBe("unchanged");
  });

  test.each([
    ["Example.dmg", "windows"],
    ["Example.app.tar.gz", "windows"],
    ["Example.exe", "macos"],
    ["Example.deb", "macos"],
  ])("is %s for %s, which is always rejected", async (fileName, platform) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, fileName);
    const publishing = () => publish(testFolder, file, "1.5.0", { release: { platform } });
    await expectRejected(testFolder, publishing, `not a file for ${platform}`);
  });

  test("is a required version that is not older, which is always rejected", async () => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    for (const requiresFrom of ["1.5.0", "2.0.0"]) {
      const publishing = () => publish(testFolder, file, "1.5.0", { release: { requiresFrom } });
      await expectRejected(testFolder, publishing, `The required version ${requiresFrom} must be older`);
    }
    await publish(testFolder, file, "1.5.0", { release: { requiresFrom: "1.4.0" } });
  });

  test("is a decreasing build version, which is always rejected: Sparkle would not offer it", async () => {
    const testFolder = await newFolder();
    const mac = async (version: string, change: object) =>
      publish(testFolder, await build(testFolder, `${version}.zip`), version, {
        release: { platform: "macos", ...change },
      });
    const universal = { architecture: "universal" };
    await mac("1.4.0", { ...universal, buildVersion: "140" });
    for (const release of [{}, { buildVersion: "139.9" }, { buildVersion: "140.0" }]) {
      await expectRejected(testFolder, () => mac("1.5.0", { ...universal, ...release }), /has 140, .*--build-version/);
      await expectRejected(testFolder, () => mac("1.5.0", { architecture: "arm64", ...release }), /has 140/);
    }
    await mac("1.6.0-beta.1", { ...universal, channel: "beta", buildVersion: "160" });
    await expectRejected(testFolder, () => mac("1.6.0", { ...universal, buildVersion: "159" }), /has 160/);
    await mac("1.5.0", { ...universal, buildVersion: "150" });
    await mac("1.3.0", { ...universal, buildVersion: "130" });
    await publish(testFolder, await build(testFolder, "setup-1.5.0.exe"), "1.5.0");
    expect(await versions(testFolder)).toEqual(["1.4.0", "1.6.0-beta.1", "1.5.0", "1.3.0", "1.5.0"]);
  });

  test("is a build version above that of a newer version, to which Sparkle would not update then", async () => {
    const testFolder = await newFolder();
    const mac = async (version: string, buildVersion?: string, change: object = {}) =>
      publish(testFolder, await build(testFolder, `${version}.zip`), version, {
        release: { platform: "macos", architecture: "universal", buildVersion, ...change },
      });
    await mac("1.9.0", "199");
    await mac("2.0.0", "200");
    for (const buildVersion of ["200", "201"])
      await expectRejected(testFolder, () => mac("1.9.1", buildVersion), /2\.0\.0 has 200, .* update 20[01] to it/);
    await mac("1.9.1", "199.1");
    await mac("2.1.0-beta.1", "205", { channel: "beta" });
    await expectRejected(testFolder, () => mac("2.1.0-beta.0", "206", { channel: "beta" }), /has 205/);
    await mac("2.0.1", "206"); // stable clients are not offered the beta
    await updateReleases(testFolder.manifest, { ids: ["core-macos-universal-2.0.0"] }, { yanked: true });
    await updateReleases(testFolder.manifest, { ids: ["core-macos-universal-2.0.1"] }, { yanked: true });
    await mac("1.9.2", "207");
    await expectRejected(testFolder, () => mac("2.0.2", "207"), /1\.9\.2 has 207/);
  });

  test("is an unknown field, which the service rejects too", async () => {
    const testFolder = await newFolder();
    await mkdir(path.dirname(testFolder.manifest));
    const artifacts = (field: object) => ({ artifacts: field });
    const isUnknown = async (text: string, message: string) => {
      await writeFile(testFolder.manifest, text);
      await expect(readManifest(testFolder.manifest)).rejects.toThrow(message);
    };
    for (const [release, field, meant] of [
      [{ id: "mine", rolout: 5 }, "releases.0.rolout", ", did you mean rollout? (in the release mine)"],
      [artifacts({ installer: remoteArtifact({ minisgn: "" }) }), "installer.minisgn", ", did you mean minisign?"],
      [artifacts({ updates: remoteArtifact() }), "releases.0.artifacts.updates", ", did you mean update?"],
      [
        artifacts({ others: [remoteArtifact({ edsignature: "" })] }),
        "others.0.edsignature",
        ", did you mean edSignature?",
      ],
      [artifacts({ deltas: [remoteArtifact({ form: "1.0.0" })] }), "deltas.0.form", ", did you mean from?"],
      [{ colour: "red" }, "releases.0.colour", " (in the"],
    ] as const) {
      await isUnknown(manifestText([manifestEntry(release)]), `${field}: Unknown field${meant}`);
    }
    const publicKey = JSON.stringify({ schemaVersion: 1, releases: [], publicKey: {} });
    await isUnknown(publicKey, "publicKey: Unknown field, did you mean publicKeys?");
  });
});

const BETA: Change = { release: { channel: "beta" } };

test("a prerelease whose number SemVer compares as text is refused, with the version to write", async () => {
  const testFolder = await newFolder();
  const file = await build(testFolder, "setup.exe");
  const add = (version: string, change = BETA) => publish(testFolder, file, version, change);
  await add("1.4.0-beta9");
  await expectRejected(testFolder, () => add("1.4.0-beta10"), "1.4.0-beta10 sorts below 1.4.0-beta9");
  await expectRejected(testFolder, () => add("1.4.0-beta10"), "Write 1.4.0-beta.10, and yank 1.4.0-beta9");
  await expectRejected(testFolder, () => add("1.4.0-beta.10"), "1.4.0-beta.10 sorts below 1.4.0-beta9");
  await add("1.4.0-rc1");
  const linux = { release: { channel: "beta", platform: "linux" } };
  await publish(testFolder, await build(testFolder, "app.tar.gz"), "1.4.0-rc.2", linux);
  await add("1.5.0-beta.9");
  await add("1.5.0-beta.10");
  await add("1.4.0-beta9"); // again
  expect(await versions(testFolder)).toEqual([
    "1.4.0-beta9",
    "1.4.0-rc1",
    "1.4.0-rc.2",
    "1.5.0-beta.9",
    "1.5.0-beta.10",
  ]);
});

test("four numbers are refused with the option for the fourth", async () => {
  const testFolder = await newFolder();
  const file = await build(testFolder, "setup.exe");
  await expect(publish(testFolder, file, "1.4.2.7")).rejects.toThrow(
    "1.4.2, with 1.4.2.7 as the build version (--build-version)",
  );
});
