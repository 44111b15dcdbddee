import { execFile } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { addRelease, type Publication } from "@/lib/admin/releases/add";
import { renderTable } from "@/lib/admin/releases/list";
import { changeManifest, readManifest } from "@/lib/admin/releases/manifest-file";
import { findNewerServedReleases, updateReleases } from "@/lib/admin/releases/update";
import { type VerifyResult, verifyReleases } from "@/lib/admin/releases/verify";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import type { Release } from "@/lib/releases/schema";
import { startOrigin } from "@/tests/support/releases/origin";
import { manifestEntry, manifestText, remoteArtifact } from "@/tests/support/releases/releases";
import { newSigningKey } from "@/tests/support/releases/signing";
import { hasCommands } from "@/tests/support/requirements";

const run = promisify(execFile);
const NOW = new Date("2026-11-20T12:00:00Z");

type TestFolder = { folder: string; manifest: string };

async function newFolder(): Promise<TestFolder> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-publish-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, manifest: path.join(folder, "releases", "catalog.json") };
}

/** Writes a build with these bytes outside the catalog. Returns its path. */
async function build({ folder }: TestFolder, name: string, bytes: Buffer = randomBytes(1000)): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

type Change = Partial<Omit<Publication, "file" | "release">> & { release?: object };

/** Publishes a file, by default as the Windows installer of the product core. */
function publish({ manifest }: TestFolder, file: string, version: string, change: Change = {}) {
  const release = { product: "core", platform: "windows", architecture: "x64", version, ...change.release };
  const rest: Omit<Publication, "release"> = {
    file,
    kinds: ["installer"],
    artifact: {},
    destination: { kind: "folder" },
  };
  return addRelease(manifest, { ...rest, ...change, release }, NOW);
}

const releasesOf = async ({ manifest }: TestFolder): Promise<readonly Release[]> =>
  (await readManifest(manifest)).releases;
const versions = async (testFolder: TestFolder) => (await releasesOf(testFolder)).map(({ version }) => version.version);

async function verify(testFolder: TestFolder, remote = false, stallTimeoutMs?: number): Promise<VerifyResult[]> {
  const found: VerifyResult[] = [];
  const reach = { remote, storage: null, stallTimeoutMs };
  for await (const one of verifyReleases(testFolder.manifest, await releasesOf(testFolder), reach)) found.push(one);
  return found;
}

/** The names of all files below a folder. */
const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe("publishing a file", () => {
  test("into an empty folder creates the catalog with the file's size and hashes", async () => {
    const testFolder = await newFolder();
    const bytes = randomBytes(3_000_000);
    const added = await publish(testFolder, await build(testFolder, "Setup 1.4.0.exe", bytes), "v1.4.0", {
      release: { platform: "win32", architecture: "x86_64", notes: "Faster" },
    });
    expect(added).toEqual({ id: "core-windows-x64-1.4.0", outcome: "added", removedSamples: [], notes: [] });
    const [release] = await releasesOf(testFolder);
    expect(release).toMatchObject({ ...{ channel: "stable", notes: "Faster", rollout: 100 }, releasedAt: NOW });
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
    const testFolder = await newFolder();
    await writeSampleCatalog(testFolder.manifest);
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
    const testFolder = await newFolder();
    await writeSampleCatalog(testFolder.manifest);
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
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.4.0", { release: { notes: "First" } });
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

  test("of the same version on another channel creates a second release with another id", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "a.exe"), "1.4.0", { release: { channel: "beta" } });
    await publish(testFolder, await build(testFolder, "b.exe"), "1.4.0");
    expect((await releasesOf(testFolder)).map(({ id }) => id)).toEqual([
      "core-windows-x64-1.4.0",
      "core-windows-x64-1.4.0-stable",
    ]);
  });
});

/** Expects a rejection that changes nothing. */
async function expectRejected(testFolder: TestFolder, publishing: () => Promise<unknown>, reason: string | RegExp) {
  const before = await filesIn(path.dirname(testFolder.manifest));
  const text = await readFile(testFolder.manifest, "utf8");
  await expect(publishing()).rejects.toThrow(reason);
  expect(await readFile(testFolder.manifest, "utf8")).toBe(text);
  expect(await filesIn(path.dirname(testFolder.manifest))).toEqual(before);
}

/** A catalog with core 1.4.0. */
async function newCatalog(change: Change = {}): Promise<TestFolder> {
  const testFolder = await newFolder();
  await publish(testFolder, await build(testFolder, "setup.exe"), "1.4.0", change);
  return testFolder;
}

describe("a rejection changes nothing", () => {
  test("for other bytes under a published version", async () => {
    const testFolder = await newCatalog();
    await expectRejected(
      testFolder,
      async () => publish(testFolder, await build(testFolder, "other.exe"), "1.4.0"),
      "with other bytes",
    );
  });

  test("for a file in a yanked release", async () => {
    const testFolder = await newCatalog();
    await updateReleases(testFolder.manifest, { ids: ["core-windows-x64-1.4.0"] }, { yanked: true });
    const file = await build(testFolder, "update.zip");
    await expectRejected(testFolder, () => publish(testFolder, file, "1.4.0", { kinds: ["update"] }), "is yanked");
  });

  test.each([
    ["version", { version: "latest" }],
    ["platform", { platform: "linux" }],
    ["product", { product: "../core" }],
    ["rollout", { rollout: 101 }],
    ["minimumSystemVersion", { minimumSystemVersion: "Sonoma" }],
    ["notesUrl", { notesUrl: "javascript:alert(1)" }],
    ["id", { id: "" }],
  ])("for a %s that the service would reject", async (field, release) => {
    const testFolder = await newCatalog();
    await expectRejected(
      testFolder,
      async () => publish(testFolder, await build(testFolder, "new.exe"), "1.5.0", { release }),
      `- ${field}: `,
    );
  });

  test("for the id of another release", async () => {
    const testFolder = await newCatalog();
    const release = { id: "core-windows-x64-1.4.0" };
    await expectRejected(
      testFolder,
      async () => publish(testFolder, await build(testFolder, "new.exe"), "1.5.0", { release }),
      "Two releases",
    );
  });

  test("for an empty file, a folder and a missing file", async () => {
    const testFolder = await newCatalog();
    await expectRejected(
      testFolder,
      async () => publish(testFolder, await build(testFolder, "empty.exe", Buffer.alloc(0)), "1.5.0"),
      "not a regular file",
    );
    await expectRejected(testFolder, () => publish(testFolder, testFolder.folder, "1.5.0"), "not a regular file");
    await expectRejected(
      testFolder,
      () => publish(testFolder, path.join(testFolder.folder, "nope.exe"), "1.5.0"),
      "cannot be read",
    );
  });

  test("while the catalog is invalid", async () => {
    const testFolder = await newCatalog();
    await writeFile(testFolder.manifest, '{ "schemaVersion": 1, "releases": [');
    await expectRejected(
      testFolder,
      async () => publish(testFolder, await build(testFolder, "new.exe"), "1.5.0"),
      "cannot be used",
    );
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
    await expectRejected(
      testFolder,
      () => publish(testFolder, file, "1.5.0", { release }),
      new RegExp(`no ${name} .* --new`, "s"),
    );
    await publish(testFolder, file, "1.5.0", { release, confirmations: { isNew: true } });
    await publish(testFolder, await build(testFolder, "newer.exe"), "1.6.0", { release });
    expect(await versions(testFolder)).toEqual(["1.4.0", "1.5.0", "1.6.0"]);
  });

  test("is not the first product, samples aside", async () => {
    const testFolder = await newFolder();
    await writeSampleCatalog(testFolder.manifest);
    await publish(testFolder, await build(testFolder, "setup.exe"), "1.0.0", { release: { product: "studio" } });
    expect(await releasesOf(testFolder)).toMatchObject([{ product: "studio" }]);
  });

  test("is a prerelease on stable, which needs a confirmation", async () => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, "new.exe");
    for (const release of [{}, { channel: "stable" }]) {
      await expectRejected(
        testFolder,
        () => publish(testFolder, file, "1.5.0-beta.1", { release }),
        "confirm with --prerelease",
      );
    }
    await publish(testFolder, file, "1.5.0-beta.1", { confirmations: { isPrerelease: true } });
    await publish(testFolder, await build(testFolder, "beta.exe"), "1.6.0-beta.1", { release: { channel: "beta" } });
    expect((await publish(testFolder, file, "1.5.0-beta.1")).outcome).toBe("unchanged");
  });

  test.each([
    ["Example.dmg", "windows"],
    ["Example.pkg", "windows"],
    ["Example.app.tar.gz", "windows"],
    ["Example.exe", "macos"],
    ["Example.msi", "macos"],
    ["Example.AppImage", "windows"],
    ["Example.deb", "macos"],
  ])("is %s for %s, which is always rejected", async (fileName, platform) => {
    const testFolder = await newCatalog();
    const file = await build(testFolder, fileName);
    await expectRejected(
      testFolder,
      () => publish(testFolder, file, "1.5.0", { release: { platform } }),
      `not a file for ${platform}`,
    );
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

  test("is an unknown field, which the service rejects too", async () => {
    const testFolder = await newFolder();
    await mkdir(path.dirname(testFolder.manifest));
    for (const [text, message] of [
      [
        manifestText([manifestEntry({ id: "mine", rolout: 5 })]),
        "releases.0.rolout: Unknown field (in the release mine)",
      ],
      [
        manifestText([manifestEntry({ artifacts: { installer: remoteArtifact({ minisgn: "" }) } })]),
        "installer.minisgn: Unknown field",
      ],
      [
        manifestText([manifestEntry({ artifacts: { updates: remoteArtifact() } })]),
        "releases.0.artifacts.updates: Unknown field",
      ],
      [JSON.stringify({ schemaVersion: 1, releases: [], publicKey: {} }), "publicKey: Unknown field"],
    ] as const) {
      await writeFile(testFolder.manifest, text);
      await expect(readManifest(testFolder.manifest)).rejects.toThrow(message);
    }
  });
});

describe("a signature", () => {
  const bytes = randomBytes(10_000);
  const key = newSigningKey();
  const comment = "timestamp:1793786400\tfile:Ops_1.5.0_x64-setup.exe";
  const NAME = "Ops_1.5.0_x64-setup.exe";
  const keys = { minisign: key.minisignKey, ed: key.edKey };

  async function sign(
    testFolder: TestFolder,
    artifact: Publication["artifact"],
    change: Change & { name?: string } = {},
  ) {
    const { name = NAME, ...rest } = change;
    return publish(testFolder, await build(testFolder, name, bytes), "1.5.0", { ...rest, artifact });
  }

  test("is verified by a public key that is set once, in the formats of minisign, Tauri and Sparkle", async () => {
    const pub = `untrusted comment: minisign public key 1\n${key.minisignKey}\n`;
    for (const minisign of [key.minisignKey, pub, Buffer.from(pub).toString("base64")]) {
      const testFolder = await newCatalog();
      const artifact = { minisign: key.minisign(bytes, comment), edSignature: key.ed(bytes) };
      expect((await sign(testFolder, artifact, { publicKeys: { minisign, ed: key.edKey } })).notes).toEqual([]);
      expect(JSON.parse(await readFile(testFolder.manifest, "utf8")).publicKeys).toEqual({ core: keys });
      const legacy = { minisign: key.minisign(bytes, comment, true) };
      expect(await sign(testFolder, legacy)).toMatchObject({ outcome: "changed", notes: [] });
    }
  });

  test.each([
    ["another file", () => ({ minisign: key.minisign(randomBytes(9), comment) }), "does not match"],
    [
      "another file, in the legacy format",
      () => ({ minisign: key.minisign(randomBytes(9), comment, true) }),
      "does not match",
    ],
    ["another key", () => ({ minisign: newSigningKey().minisign(bytes, comment) }), "by the key"],
    [
      "a changed trusted comment",
      () => ({ minisign: key.minisign(bytes, comment).replace("17937", "17938") }),
      "does not match",
    ],
    [
      "another version's file",
      () => ({ minisign: key.minisign(bytes, comment.replace("1.5.0", "1.4.0")) }),
      "another version",
    ],
    ["another version", () => ({ minisign: key.minisign(bytes, "version:1.5.0-beta.1") }), "another version"],
    ["another file for Sparkle", () => ({ edSignature: key.ed(randomBytes(9)) }), "does not match"],
    ["another key for Sparkle", () => ({ edSignature: newSigningKey().ed(bytes) }), "does not match"],
  ])("of %s is rejected", async (_, artifact, reason) => {
    const testFolder = await newCatalog();
    await expectRejected(testFolder, () => sign(testFolder, artifact(), { publicKeys: keys }), reason);
  });

  test("of a version that is a prefix of this one is rejected", async () => {
    const testFolder = await newCatalog();
    const artifact = { minisign: key.minisign(bytes, "file:setup_1.5.1_x64.exe") };
    const file = await build(testFolder, "setup_1.5.1_x64.exe", bytes);
    await expectRejected(
      testFolder,
      () => publish(testFolder, file, "1.5.10", { artifact, publicKeys: keys }),
      "another version",
    );
  });

  test("of a renamed file is valid if it can be verified", async () => {
    const testFolder = await newCatalog();
    const artifact = { minisign: key.minisign(bytes, comment) };
    expect((await sign(testFolder, artifact, { publicKeys: keys, name: "setup.exe" })).notes).toEqual([]);
  });

  test("without a public key is reported as not verified, and compared by comment and key id", async () => {
    const testFolder = await newCatalog();
    const minisign = key.minisign(randomBytes(9), comment);
    await expectRejected(testFolder, () => sign(testFolder, { minisign }, { name: "setup.exe" }), "another file");
    await expectRejected(
      testFolder,
      () => sign(testFolder, { minisign: minisign.replace("1.5.0", "1.6.0") }),
      "another version",
    );
    const { notes } = await sign(testFolder, { minisign, edSignature: key.ed(randomBytes(9)) });
    expect(notes).toEqual([expect.stringContaining("--minisign-key"), expect.stringContaining("--ed-key")]);
    const file = await build(testFolder, "setup-1.6.0.exe");
    const other = { minisign: newSigningKey().minisign(bytes, "x") };
    await expectRejected(
      testFolder,
      () => publish(testFolder, file, "1.6.0", { artifact: other }),
      /by the key .* --new/,
    );
    await publish(testFolder, file, "1.6.0", { artifact: other, confirmations: { isNew: true } });
  });

  test("by a new public key needs a confirmation, which replaces the product's key", async () => {
    const testFolder = await newCatalog({ publicKeys: keys });
    const next = newSigningKey();
    const change = { publicKeys: { ed: next.edKey } };
    await expectRejected(
      testFolder,
      () => sign(testFolder, { edSignature: next.ed(bytes) }, change),
      "Confirm a new key with --new",
    );
    await sign(testFolder, { edSignature: next.ed(bytes) }, { ...change, confirmations: { isNew: true } });
    await expectRejected(testFolder, () => sign(testFolder, { edSignature: key.ed(bytes) }), "does not match");
    await expectRejected(
      testFolder,
      () => sign(testFolder, {}, { publicKeys: { minisign: "RWQ" } }),
      "Must be a minisign public key",
    );
    const odd = { release: { product: "constructor" }, confirmations: { isNew: true } };
    expect(await publish(testFolder, await build(testFolder, "c.exe"), "1.0.0", odd)).toMatchObject({
      outcome: "added",
    });
  });

  // Debian's minisign; .ci/run installs it.
  test.runIf(hasCommands("minisign"))("of minisign itself is verified", async () => {
    const testFolder = await newCatalog();
    const [file, pub, secret] = [
      await build(testFolder, NAME, bytes),
      ...["team.pub", "team.key"].map((name) => path.join(testFolder.folder, name)),
    ];
    await run("minisign", ["-G", "-W", "-p", pub ?? "", "-s", secret ?? ""]);
    for (const format of [["-H"], ["-l"]]) {
      await run("minisign", ["-S", ...format, "-s", secret ?? "", "-m", file]);
      const minisign = await readFile(`${file}.minisig`, "utf8");
      const publicKeys = { minisign: await readFile(pub ?? "", "utf8") };
      expect((await publish(testFolder, file, "1.5.0", { artifact: { minisign }, publicKeys })).notes).toEqual([]);
    }
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

  test("that publish the same version with different bytes leave only the files of the first", async () => {
    const testFolder = await newFolder();
    const files = [
      await build(testFolder, "a.exe"),
      await build(testFolder, "b.exe"),
      await build(testFolder, "c.exe"),
    ];
    const all = await Promise.allSettled(files.map((file) => publish(testFolder, file, "1.0.0")));
    expect(all.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await filesIn(path.dirname(testFolder.manifest))).toHaveLength(2);
    expect(await verify(testFolder)).toMatchObject([{ problem: null }]);
  });

  test("do not wait for the lock file of a killed process, whatever its date", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "a.exe"), "1.0.0");
    await writeFile(`${testFolder.manifest}.lock`, "4711\n");
    await utimes(`${testFolder.manifest}.lock`, new Date("2100-01-01"), new Date("2100-01-01"));
    await publish(testFolder, await build(testFolder, "b.exe"), "1.1.0");
    expect(await versions(testFolder)).toEqual(["1.0.0", "1.1.0"]);
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
      renderTable(await releasesOf(testFolder))
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

describe("verification", () => {
  test("finds files that are missing, truncated, changed or linked outside the folder", async () => {
    const testFolder = await newFolder();
    const all = ["whole", "missing", "cut", "longer", "changed", "linked"];
    for (const [i, name] of all.entries())
      await publish(testFolder, await build(testFolder, `${name}.exe`), `1.0.${i}`);
    const files = Object.fromEntries(
      (await releasesOf(testFolder)).map(({ artifacts: { installer } }) => [
        path.parse(installer?.fileName ?? "").name,
        path.join(path.dirname(testFolder.manifest), installer?.file ?? ""),
      ]),
    );
    const at = (name: string) => String(files[name]);
    await rm(at("missing"));
    await truncate(at("cut"), 999);
    await writeFile(at("longer"), randomBytes(1001));
    await writeFile(at("changed"), randomBytes(1000));
    await rm(at("linked"));
    await symlink(path.join(testFolder.folder, "linked.exe"), at("linked"));
    expect((await verify(testFolder)).map(({ problem }) => problem)).toEqual([
      null,
      expect.stringContaining("ENOENT"),
      "the file differs from the catalog in sizeBytes, sha256, sha512",
      "the file is longer than the catalog says",
      "the file differs from the catalog in sha256, sha512",
      expect.stringContaining("symbolic link"),
    ]);
  });

  test("reads a file of two kinds once, and skips yanked releases", async () => {
    const testFolder = await newFolder();
    await publish(testFolder, await build(testFolder, "a.exe"), "1.0.0", { kinds: ["installer", "update"] });
    await publish(testFolder, await build(testFolder, "b.exe"), "1.1.0");
    await updateReleases(testFolder.manifest, { product: "core", version: "1.1.0" }, { yanked: true });
    expect(await verify(testFolder)).toMatchObject([{ kinds: ["installer", "update"], problem: null }]);
  });

  test("downloads from URLs only with --remote, and aborts stalled transfers", async () => {
    const testFolder = await newFolder();
    const bytes = randomBytes(100_000);
    const origin = await startOrigin((request, response) => {
      if (request.url === "/good") response.end(bytes);
      if (request.url === "/gone") response.writeHead(404).end();
      if (request.url === "/endless") for (let i = 0; i < 10; i++) response.write(bytes);
      if (request.url === "/stalls") response.write(bytes.subarray(0, 10));
    });
    const file = await build(testFolder, "setup.exe", bytes);
    const publishAt = async (testFolder: TestFolder, names: string[]) => {
      for (const [i, name] of names.entries()) {
        await publish(testFolder, file, `1.0.${i}`, { destination: { kind: "url", url: `${origin.url}/${name}` } });
      }
    };
    await publishAt(testFolder, ["good", "gone", "endless"]);
    expect(await verify(testFolder)).toEqual([]);
    expect((await verify(testFolder, true)).map(({ problem }) => problem)).toEqual([
      null,
      "the response status is 404",
      "the file is longer than the catalog says",
    ]);
    const silent = await newFolder();
    await publishAt(silent, ["stalls", "hangs"]);
    expect((await verify(silent, true, 200)).map(({ problem }) => problem)).toEqual([
      expect.stringContaining("no bytes arrived"),
      expect.stringContaining("no bytes arrived"),
    ]);
  });

  test("reports objects that cannot be verified without object storage", async () => {
    const testFolder = await newFolder();
    await mkdir(path.dirname(testFolder.manifest));
    const installer = remoteArtifact({ url: undefined, s3Key: "core/setup.exe" });
    await writeFile(testFolder.manifest, manifestText([manifestEntry({ artifacts: { installer } })]));
    expect(await verify(testFolder, true)).toMatchObject([{ problem: expect.stringContaining("RELEASE_S3_") }]);
  });
});
