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

type Desk = { folder: string; manifest: string };

async function newDesk(): Promise<Desk> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "homeport-publish-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, manifest: path.join(folder, "releases", "catalog.json") };
}

/** A build of its own with these bytes. */
async function build({ folder }: Desk, name: string, bytes: Buffer = randomBytes(1000)): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

type Change = Partial<Omit<Publication, "file" | "release">> & { release?: object };

/** Publishes a file as core's Windows installer. */
function publish({ manifest }: Desk, file: string, version: string, change: Change = {}) {
  const release = { product: "core", platform: "windows", architecture: "x64", version, ...change.release };
  const rest: Omit<Publication, "release"> = {
    file,
    kinds: ["installer"],
    artifact: {},
    destination: { to: "folder" },
  };
  return addRelease(manifest, { ...rest, ...change, release }, NOW);
}

const releasesOf = async ({ manifest }: Desk): Promise<readonly Release[]> => (await readManifest(manifest)).releases;
const versions = async (desk: Desk) => (await releasesOf(desk)).map(({ version }) => version.version);

async function verify(desk: Desk, remote = false, stallTimeoutMs?: number): Promise<VerifyResult[]> {
  const found: VerifyResult[] = [];
  const reach = { remote, storage: null, stallTimeoutMs };
  for await (const one of verifyReleases(desk.manifest, await releasesOf(desk), reach)) found.push(one);
  return found;
}

/** Everything below a folder, but what was built. */
const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe("publishing a file", () => {
  test("into an empty folder makes the catalog, with the file's true size and hashes", async () => {
    const desk = await newDesk();
    const bytes = randomBytes(3_000_000);
    const added = await publish(desk, await build(desk, "Setup 1.4.0.exe", bytes), "v1.4.0", {
      release: { platform: "win32", architecture: "x86_64", notes: "Faster" },
    });
    expect(added).toEqual({ id: "core-windows-x64-1.4.0", outcome: "added", removedSamples: [], notes: [] });
    const [release] = await releasesOf(desk);
    expect(release).toMatchObject({ ...{ channel: "stable", notes: "Faster", rollout: 100 }, releasedAt: NOW });
    expect(release?.artifacts.installer).toMatchObject({
      fileName: "Setup 1.4.0.exe",
      contentType: "application/x-msdownload",
      sizeBytes: bytes.byteLength,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      sha512: createHash("sha512").update(bytes).digest("base64"),
    });
    const copy = path.join(path.dirname(desk.manifest), release?.artifacts.installer?.file ?? "");
    expect((await readFile(copy)).equals(bytes)).toBe(true);
  });

  test("into the sample catalog removes every sample with its files, and may have a sample's version", async () => {
    const desk = await newDesk();
    await writeSampleCatalog(desk.manifest);
    await updateReleases(desk.manifest, { product: "core", version: "1.0.0" }, { yanked: true });
    const added = await publish(desk, await build(desk, "setup.exe"), "1.0.0");
    expect(added).toMatchObject({ id: "core-windows-x64-1.0.0", outcome: "added", removedSamples: { length: 10 } });
    expect(await releasesOf(desk)).toMatchObject([{ version: { version: "1.0.0" }, sample: false, yanked: false }]);
    expect((await filesIn(path.dirname(desk.manifest))).sort()).toEqual(["catalog.json", "setup.exe"]);
    expect((await publish(desk, await build(desk, "next.exe"), "1.1.0")).removedSamples).toEqual([]);
  });

  test("into a sample catalog that an earlier build made, without a mark, removes the samples by their key", async () => {
    const desk = await newDesk();
    await writeSampleCatalog(desk.manifest);
    await writeFile(desk.manifest, (await readFile(desk.manifest, "utf8")).replaceAll('"sample": true,', ""));
    await publish(desk, await build(desk, "setup.exe"), "1.0.0");
    expect(await versions(desk)).toEqual(["1.0.0"]);
  });

  test("into a catalog that an editor began with a byte order mark works, as the service takes it", async () => {
    const desk = await newDesk();
    await mkdir(path.dirname(desk.manifest));
    await writeFile(desk.manifest, `\ufeff${manifestText([manifestEntry()])}`);
    await publish(desk, await build(desk, "setup.exe"), "2.0.0");
    expect(await versions(desk)).toEqual(["1.0.0", "2.0.0"]);
  });

  test("leaves it to be read by whoever could read the catalog before", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "a.exe"), "1.0.0");
    for (const mode of [0o640, 0o664]) {
      await chmod(desk.manifest, mode);
      await publish(desk, await build(desk, `${mode}.exe`), `1.0.${mode}`);
      expect((await stat(desk.manifest)).mode & 0o777).toBe(mode);
    }
  });

  test("keeps a catalog behind a link where it is", async () => {
    const desk = await newDesk();
    const real = path.join(desk.folder, "real.json");
    await writeFile(real, manifestText([manifestEntry()]));
    await mkdir(path.dirname(desk.manifest));
    await symlink(real, desk.manifest);
    await publish(desk, await build(desk, "setup.exe"), "2.0.0");
    const written = JSON.parse(await readFile(real, "utf8"));
    expect(written).toMatchObject({ releases: [{ version: "1.0.0" }, { version: "2.0.0" }] });
    expect((await verify(desk)).map(({ problem }) => problem)).toEqual([null]);
  });

  test("of another kind goes into the release that is there, with what else was said of it", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "setup.exe"), "1.4.0", { release: { notes: "First" } });
    const added = await publish(desk, await build(desk, "update.zip"), "1.4.0", {
      kinds: ["update"],
      release: { rollout: 10 },
    });
    expect(added.outcome).toBe("extended");
    const releases = await releasesOf(desk);
    expect(releases).toMatchObject([{ notes: "First", rollout: 10, releasedAt: NOW }]);
    expect([releases[0]?.artifacts.installer?.fileName, releases[0]?.artifacts.update?.fileName]).toEqual([
      "setup.exe",
      "update.zip",
    ]);
  });

  test("again is no problem and changes nothing, not even the time of the manifest", async () => {
    const desk = await newDesk();
    const file = await build(desk, "setup.exe");
    await publish(desk, file, "1.4.0", { kinds: ["installer", "update"] });
    await utimes(desk.manifest, 1, 1);
    const before = await readFile(desk.manifest, "utf8");
    expect((await publish(desk, file, "1.4.0", { kinds: ["installer", "update"] })).outcome).toBe("unchanged");
    expect(await readFile(desk.manifest, "utf8")).toBe(before);
    expect((await filesIn(path.dirname(desk.manifest))).sort()).toEqual(["catalog.json", "setup.exe"]);
  });

  test("again mends the file in the catalog's folder where that was damaged", async () => {
    const desk = await newDesk();
    const file = await build(desk, "setup.exe");
    await publish(desk, file, "1.4.0");
    const [release] = await releasesOf(desk);
    const copy = path.join(path.dirname(desk.manifest), release?.artifacts.installer?.file ?? "");
    await writeFile(copy, randomBytes(1000));
    expect((await publish(desk, file, "1.4.0")).outcome).toBe("unchanged");
    expect((await readFile(copy)).equals(await readFile(file))).toBe(true);
    expect(await filesIn(path.dirname(desk.manifest))).toHaveLength(2);
  });

  test("that lies at an address by now moves the release there", async () => {
    const desk = await newDesk();
    const file = await build(desk, "setup.exe");
    await publish(desk, file, "1.4.0");
    await publish(desk, file, "1.4.0", { destination: { to: "url", url: "https://cdn.example.com/setup.exe" } });
    const [release] = await releasesOf(desk);
    expect(release?.artifacts.installer).toMatchObject({ url: "https://cdn.example.com/setup.exe" });
    expect(release?.artifacts.installer?.file).toBeUndefined();
  });

  test("of the same version on another channel is another release, with an id of its own", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "a.exe"), "1.4.0", { release: { channel: "beta" } });
    await publish(desk, await build(desk, "b.exe"), "1.4.0");
    expect((await releasesOf(desk)).map(({ id }) => id)).toEqual([
      "core-windows-x64-1.4.0",
      "core-windows-x64-1.4.0-stable",
    ]);
  });
});

/** Expects a refusal that leaves everything as it was. */
async function refused(desk: Desk, publishing: () => Promise<unknown>, reason: string | RegExp) {
  const before = await filesIn(path.dirname(desk.manifest));
  const text = await readFile(desk.manifest, "utf8");
  await expect(publishing()).rejects.toThrow(reason);
  expect(await readFile(desk.manifest, "utf8")).toBe(text);
  expect(await filesIn(path.dirname(desk.manifest))).toEqual(before);
}

/** A catalog with core 1.4.0 in it. */
async function stocked(change: Change = {}): Promise<Desk> {
  const desk = await newDesk();
  await publish(desk, await build(desk, "setup.exe"), "1.4.0", change);
  return desk;
}

describe("what is refused leaves everything as it was", () => {
  test("other bytes under a version that is published", async () => {
    const desk = await stocked();
    await refused(desk, async () => publish(desk, await build(desk, "other.exe"), "1.4.0"), "other bytes already");
  });

  test("anything in a release that is yanked", async () => {
    const desk = await stocked();
    await updateReleases(desk.manifest, { ids: ["core-windows-x64-1.4.0"] }, { yanked: true });
    const file = await build(desk, "update.zip");
    await refused(desk, () => publish(desk, file, "1.4.0", { kinds: ["update"] }), "is yanked");
  });

  test.each([
    ["version", { version: "latest" }],
    ["platform", { platform: "linux" }],
    ["product", { product: "../core" }],
    ["rollout", { rollout: 101 }],
    ["minimumSystemVersion", { minimumSystemVersion: "Sonoma" }],
    ["notesUrl", { notesUrl: "javascript:alert(1)" }],
    ["id", { id: "" }],
  ])("a %s that the service would refuse", async (member, release) => {
    const desk = await stocked();
    await refused(desk, async () => publish(desk, await build(desk, "new.exe"), "1.5.0", { release }), `- ${member}: `);
  });

  test("an id that another release has", async () => {
    const desk = await stocked();
    const release = { id: "core-windows-x64-1.4.0" };
    await refused(desk, async () => publish(desk, await build(desk, "new.exe"), "1.5.0", { release }), "Two releases");
  });

  test("an empty file, a folder, and one that is not there", async () => {
    const desk = await stocked();
    await refused(
      desk,
      async () => publish(desk, await build(desk, "empty.exe", Buffer.alloc(0)), "1.5.0"),
      "not a file",
    );
    await refused(desk, () => publish(desk, desk.folder, "1.5.0"), "not a file");
    await refused(desk, () => publish(desk, path.join(desk.folder, "nope.exe"), "1.5.0"), "cannot be read");
  });

  test("everything while the catalog is broken", async () => {
    const desk = await stocked();
    await writeFile(desk.manifest, '{ "schemaVersion": 1, "releases": [');
    await refused(desk, async () => publish(desk, await build(desk, "new.exe"), "1.5.0"), "cannot be used as it is");
  });

  test("a change that the service would refuse", async () => {
    const desk = await stocked();
    const twice = () =>
      changeManifest(desk.manifest, ({ entries }) => ({ entries: [...entries, ...entries], result: null }));
    await refused(desk, twice, "Two releases");
  });
});

describe("what looks like a slip", () => {
  test.each([
    ["product", { product: "cor" }],
    ["architecture", { architecture: "x46" }],
    ["channel", { channel: "satble" }],
  ])("of a %s that the catalog does not have is refused, unless it is said to be new", async (name, release) => {
    const desk = await stocked();
    const file = await build(desk, "new.exe");
    await refused(desk, () => publish(desk, file, "1.5.0", { release }), new RegExp(`no ${name} .* Say --new`, "s"));
    await publish(desk, file, "1.5.0", { release, confirmations: { isNew: true } });
    await publish(desk, await build(desk, "newer.exe"), "1.6.0", { release });
    expect(await versions(desk)).toEqual(["1.4.0", "1.5.0", "1.6.0"]);
  });

  test("is no product where it is the first, samples aside", async () => {
    const desk = await newDesk();
    await writeSampleCatalog(desk.manifest);
    await publish(desk, await build(desk, "setup.exe"), "1.0.0", { release: { product: "studio" } });
    expect(await releasesOf(desk)).toMatchObject([{ product: "studio" }]);
  });

  test("of a prerelease for everybody is refused, unless it is meant", async () => {
    const desk = await stocked();
    const file = await build(desk, "new.exe");
    for (const release of [{}, { channel: "stable" }]) {
      await refused(desk, () => publish(desk, file, "1.5.0-beta.1", { release }), "say --prerelease");
    }
    await publish(desk, file, "1.5.0-beta.1", { confirmations: { isPrerelease: true } });
    await publish(desk, await build(desk, "beta.exe"), "1.6.0-beta.1", { release: { channel: "beta" } });
    expect((await publish(desk, file, "1.5.0-beta.1")).outcome).toBe("unchanged");
  });

  test.each([
    ["Example.dmg", "windows"],
    ["Example.pkg", "windows"],
    ["Example.app.tar.gz", "windows"],
    ["Example.exe", "macos"],
    ["Example.msi", "macos"],
    ["Example.AppImage", "windows"],
    ["Example.deb", "macos"],
  ])("of %s for %s is refused", async (fileName, platform) => {
    const desk = await stocked();
    const file = await build(desk, fileName);
    await refused(desk, () => publish(desk, file, "1.5.0", { release: { platform } }), `not a file for ${platform}`);
  });

  test("of a build version that falls is refused, as Sparkle would never offer it", async () => {
    const desk = await newDesk();
    const mac = async (version: string, change: object) =>
      publish(desk, await build(desk, `${version}.zip`), version, { release: { platform: "macos", ...change } });
    const universal = { architecture: "universal" };
    await mac("1.4.0", { ...universal, buildVersion: "140" });
    for (const release of [{}, { buildVersion: "139.9" }, { buildVersion: "140.0" }]) {
      await refused(desk, () => mac("1.5.0", { ...universal, ...release }), /has 140, .*--build-version/);
      await refused(desk, () => mac("1.5.0", { architecture: "arm64", ...release }), /has 140/);
    }
    await mac("1.6.0-beta.1", { ...universal, channel: "beta", buildVersion: "160" });
    await refused(desk, () => mac("1.6.0", { ...universal, buildVersion: "159" }), /has 160/);
    await mac("1.5.0", { ...universal, buildVersion: "150" });
    await mac("1.3.0", { ...universal, buildVersion: "130" });
    await publish(desk, await build(desk, "setup-1.5.0.exe"), "1.5.0");
    expect(await versions(desk)).toEqual(["1.4.0", "1.6.0-beta.1", "1.5.0", "1.3.0", "1.5.0"]);
  });

  test("of a member that the catalog does not have is refused by the service too, by its name", async () => {
    const desk = await newDesk();
    await mkdir(path.dirname(desk.manifest));
    for (const [text, member] of [
      [
        manifestText([manifestEntry({ id: "mine", rolout: 5 })]),
        "releases.0.rolout: There is no such member (in the release mine)",
      ],
      [
        manifestText([manifestEntry({ artifacts: { installer: remoteArtifact({ minisgn: "" }) } })]),
        "installer.minisgn: There",
      ],
      [
        manifestText([manifestEntry({ artifacts: { updates: remoteArtifact() } })]),
        "releases.0.artifacts.updates: There",
      ],
      [JSON.stringify({ schemaVersion: 1, releases: [], publicKey: {} }), "publicKey: There is no such member"],
    ] as const) {
      await writeFile(desk.manifest, text);
      await expect(readManifest(desk.manifest)).rejects.toThrow(member);
    }
  });
});

describe("a signature", () => {
  const bytes = randomBytes(10_000);
  const key = newSigningKey();
  const comment = "timestamp:1793786400\tfile:Ops_1.5.0_x64-setup.exe";
  const NAME = "Ops_1.5.0_x64-setup.exe";
  const keys = { minisign: key.minisignKey, ed: key.edKey };

  async function sign(desk: Desk, artifact: Publication["artifact"], change: Change & { name?: string } = {}) {
    const { name = NAME, ...rest } = change;
    return publish(desk, await build(desk, name, bytes), "1.5.0", { ...rest, artifact });
  }

  test("is verified by the public key that was named once, as minisign, Tauri and Sparkle write it", async () => {
    const pub = `untrusted comment: minisign public key 1\n${key.minisignKey}\n`;
    for (const minisign of [key.minisignKey, pub, Buffer.from(pub).toString("base64")]) {
      const desk = await stocked();
      const artifact = { minisign: key.minisign(bytes, comment), edSignature: key.ed(bytes) };
      expect((await sign(desk, artifact, { publicKeys: { minisign, ed: key.edKey } })).notes).toEqual([]);
      expect(JSON.parse(await readFile(desk.manifest, "utf8")).publicKeys).toEqual({ core: keys });
      const legacy = { minisign: key.minisign(bytes, comment, true) };
      expect(await sign(desk, legacy)).toMatchObject({ outcome: "extended", notes: [] });
    }
  });

  test.each([
    ["another file", () => ({ minisign: key.minisign(randomBytes(9), comment) }), "not one of"],
    [
      "another file, in the legacy format",
      () => ({ minisign: key.minisign(randomBytes(9), comment, true) }),
      "not one of",
    ],
    ["another key", () => ({ minisign: newSigningKey().minisign(bytes, comment) }), "by the key"],
    [
      "a trusted comment that was changed",
      () => ({ minisign: key.minisign(bytes, comment).replace("17937", "17938") }),
      "not one of",
    ],
    [
      "another version's file",
      () => ({ minisign: key.minisign(bytes, comment.replace("1.5.0", "1.4.0")) }),
      "another version",
    ],
    ["another version", () => ({ minisign: key.minisign(bytes, "version:1.5.0-beta.1") }), "another version"],
    ["another file for Sparkle", () => ({ edSignature: key.ed(randomBytes(9)) }), "not one of"],
    ["another key for Sparkle", () => ({ edSignature: newSigningKey().ed(bytes) }), "not one of"],
  ])("of %s is refused", async (_, artifact, reason) => {
    const desk = await stocked();
    await refused(desk, () => sign(desk, artifact(), { publicKeys: keys }), reason);
  });

  test("of a version whose text begins this one's is refused", async () => {
    const desk = await stocked();
    const artifact = { minisign: key.minisign(bytes, "file:setup_1.5.1_x64.exe") };
    const file = await build(desk, "setup_1.5.1_x64.exe", bytes);
    await refused(desk, () => publish(desk, file, "1.5.10", { artifact, publicKeys: keys }), "another version");
  });

  test("of a file that was renamed is good where it is verified", async () => {
    const desk = await stocked();
    const artifact = { minisign: key.minisign(bytes, comment) };
    expect((await sign(desk, artifact, { publicKeys: keys, name: "setup.exe" })).notes).toEqual([]);
  });

  test("without a known public key is said not to be verified, and checked by what it says of itself", async () => {
    const desk = await stocked();
    const minisign = key.minisign(randomBytes(9), comment);
    await refused(desk, () => sign(desk, { minisign }, { name: "setup.exe" }), "another file");
    await refused(desk, () => sign(desk, { minisign: minisign.replace("1.5.0", "1.6.0") }), "another version");
    const { notes } = await sign(desk, { minisign, edSignature: key.ed(randomBytes(9)) });
    expect(notes).toEqual([expect.stringContaining("--minisign-key"), expect.stringContaining("--ed-key")]);
    const file = await build(desk, "setup-1.6.0.exe");
    const other = { minisign: newSigningKey().minisign(bytes, "x") };
    await refused(desk, () => publish(desk, file, "1.6.0", { artifact: other }), /by the key .* Say --new/);
    await publish(desk, file, "1.6.0", { artifact: other, confirmations: { isNew: true } });
  });

  test("by another public key than the product's needs a word, and is the product's from then on", async () => {
    const desk = await stocked({ publicKeys: keys });
    const next = newSigningKey();
    const change = { publicKeys: { ed: next.edKey } };
    await refused(desk, () => sign(desk, { edSignature: next.ed(bytes) }, change), "Say --new");
    await sign(desk, { edSignature: next.ed(bytes) }, { ...change, confirmations: { isNew: true } });
    await refused(desk, () => sign(desk, { edSignature: key.ed(bytes) }), "not one of");
    await refused(desk, () => sign(desk, {}, { publicKeys: { minisign: "RWQ" } }), "Must be a minisign public key");
    const odd = { release: { product: "constructor" }, confirmations: { isNew: true } };
    expect(await publish(desk, await build(desk, "c.exe"), "1.0.0", odd)).toMatchObject({ outcome: "added" });
  });

  // Debian's minisign; .ci/run installs it.
  test.runIf(hasCommands("minisign"))("that minisign made is verified", async () => {
    const desk = await stocked();
    const [file, pub, secret] = [
      await build(desk, NAME, bytes),
      ...["team.pub", "team.key"].map((name) => path.join(desk.folder, name)),
    ];
    await run("minisign", ["-G", "-W", "-p", pub ?? "", "-s", secret ?? ""]);
    for (const format of [["-H"], ["-l"]]) {
      await run("minisign", ["-S", ...format, "-s", secret ?? "", "-m", file]);
      const minisign = await readFile(`${file}.minisig`, "utf8");
      const publicKeys = { minisign: await readFile(pub ?? "", "utf8") };
      expect((await publish(desk, file, "1.5.0", { artifact: { minisign }, publicKeys })).notes).toEqual([]);
    }
  });
});

describe("several at once", () => {
  test("publish side by side, and none of them is lost", async () => {
    const desk = await newDesk();
    const all = Array.from({ length: 8 }, (_, i) => `1.${i}.0`);
    await Promise.all(all.map(async (version) => publish(desk, await build(desk, `${version}.exe`), version)));
    expect((await versions(desk)).sort()).toEqual(all);
    expect((await verify(desk)).filter(({ problem }) => problem !== null)).toEqual([]);
  });

  test("publish one version with different bytes: one of them wins, and the other leaves nothing behind", async () => {
    const desk = await newDesk();
    const files = [await build(desk, "a.exe"), await build(desk, "b.exe"), await build(desk, "c.exe")];
    const all = await Promise.allSettled(files.map((file) => publish(desk, file, "1.0.0")));
    expect(all.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await filesIn(path.dirname(desk.manifest))).toHaveLength(2);
    expect(await verify(desk)).toMatchObject([{ problem: null }]);
  });

  test("wait for no lock that a killed one left behind, whatever its date", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "a.exe"), "1.0.0");
    await writeFile(`${desk.manifest}.lock`, "4711\n");
    await utimes(`${desk.manifest}.lock`, new Date("2100-01-01"), new Date("2100-01-01"));
    await publish(desk, await build(desk, "b.exe"), "1.1.0");
    expect(await versions(desk)).toEqual(["1.0.0", "1.1.0"]);
  });

  test("throw copies away that were broken off more than a day ago", async () => {
    const desk = await newDesk();
    const folder = path.dirname(desk.manifest);
    await mkdir(folder);
    for (const [name, age] of [
      [".old.part", 2],
      [".new.part", 0],
    ] as const) {
      await writeFile(path.join(folder, name), "half");
      const at = new Date(Date.now() - age * 24 * 60 * 60 * 1000);
      await utimes(path.join(folder, name), at, at);
    }
    await publish(desk, await build(desk, "setup.exe"), "1.0.0");
    expect((await filesIn(folder)).sort()).toEqual([".new.part", "catalog.json", "setup.exe"]);
  });
});

describe("what is published", () => {
  test("is yanked, staged and rolled back by id, or by product and version on every platform at once", async () => {
    const desk = await newDesk();
    for (const platform of ["windows", "macos"]) {
      for (const version of ["1.0.0", "1.1.0"]) {
        await publish(desk, await build(desk, `${platform}-${version}.zip`), version, { release: { platform } });
      }
    }
    const bad = { product: "core", version: "v1.1.0" };
    expect(await updateReleases(desk.manifest, bad, { yanked: true })).toHaveLength(2);
    await updateReleases(desk.manifest, { ...bad, platform: "darwin" }, { yanked: false, rollout: 0 });
    await updateReleases(desk.manifest, { ids: ["core-windows-x64-1.0.0"] }, { rollback: true });
    expect(
      renderTable(await releasesOf(desk))
        .split("\n")
        .map((line) => line.split(/\s\s+/).slice(1, 6)),
    ).toEqual([
      ["PLATFORM", "ARCH", "VERSION", "CHANNEL", "STATE"],
      ["macos", "x64", "1.1.0", "stable", "paused"],
      ["macos", "x64", "1.0.0", "stable", "everybody"],
      ["windows", "x64", "1.1.0", "stable", "yanked"],
      ["windows", "x64", "1.0.0", "stable", "everybody, rollback"],
    ]);
  });

  test("stands in the way of a rollback while it is served, also in a build for other computers of the same kind", async () => {
    const desk = await newDesk();
    const add = async (version: string, release: object) =>
      (await publish(desk, await build(desk, `${randomUUID()}.zip`), version, { release })).id;
    const mac = { platform: "macos", architecture: "universal" };
    const back = await add("1.0.0", mac);
    const ahead = [await add("1.1.0", mac), await add("1.1.0", { ...mac, architecture: "arm64" })];
    await add("1.2.0", { ...mac, rollout: 0 });
    await add("1.2.0-beta.1", { ...mac, channel: "beta" });
    await add("1.1.0", {});
    expect(findNewerServedReleases(await releasesOf(desk), [back])).toEqual(ahead);
    await updateReleases(desk.manifest, { product: "core", version: "1.1.0", platform: "macos" }, { rollout: 0 });
    expect(findNewerServedReleases(await releasesOf(desk), [back])).toEqual([]);
  });

  test("is changed all together or not at all, and never by too little said", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "setup.exe"), "1.0.0");
    const ids = ["core-windows-x64-1.0.0", "nope"];
    await expect(updateReleases(desk.manifest, { ids }, { yanked: true })).rejects.toThrow(
      "no release with the id nope",
    );
    const elsewhere = { ids: ["core-windows-x64-1.0.0"], platform: "macos" };
    await expect(updateReleases(desk.manifest, elsewhere, { yanked: true })).rejects.toThrow("no release with the id");
    await expect(updateReleases(desk.manifest, { product: "core" }, { yanked: true })).rejects.toThrow("Which release");
    await expect(
      updateReleases(desk.manifest, { product: "core", version: "2.0.0" }, { yanked: true }),
    ).rejects.toThrow("no release like that");
    expect(await releasesOf(desk)).toMatchObject([{ yanked: false }]);
  });
});

describe("verifying", () => {
  test("finds the file that is missing, cut, changed or behind a link out of the folder, and no other", async () => {
    const desk = await newDesk();
    const all = ["whole", "missing", "cut", "longer", "changed", "linked"];
    for (const [i, name] of all.entries()) await publish(desk, await build(desk, `${name}.exe`), `1.0.${i}`);
    const files = Object.fromEntries(
      (await releasesOf(desk)).map(({ artifacts: { installer } }) => [
        path.parse(installer?.fileName ?? "").name,
        path.join(path.dirname(desk.manifest), installer?.file ?? ""),
      ]),
    );
    const at = (name: string) => String(files[name]);
    await rm(at("missing"));
    await truncate(at("cut"), 999);
    await writeFile(at("longer"), randomBytes(1001));
    await writeFile(at("changed"), randomBytes(1000));
    await rm(at("linked"));
    await symlink(path.join(desk.folder, "linked.exe"), at("linked"));
    expect((await verify(desk)).map(({ problem }) => problem)).toEqual([
      null,
      expect.stringContaining("ENOENT"),
      "it differs from the catalog in sizeBytes, sha256, sha512",
      "it is longer than the catalog says",
      "it differs from the catalog in sha256, sha512",
      expect.stringContaining("symbolic link"),
    ]);
  });

  test("reads a file of two kinds once, and nothing of what is yanked", async () => {
    const desk = await newDesk();
    await publish(desk, await build(desk, "a.exe"), "1.0.0", { kinds: ["installer", "update"] });
    await publish(desk, await build(desk, "b.exe"), "1.1.0");
    await updateReleases(desk.manifest, { product: "core", version: "1.1.0" }, { yanked: true });
    expect(await verify(desk)).toMatchObject([{ kinds: ["installer", "update"], problem: null }]);
  });

  test("asks addresses only when told to, and gives up those that hang", async () => {
    const desk = await newDesk();
    const bytes = randomBytes(100_000);
    const origin = await startOrigin((request, response) => {
      if (request.url === "/good") response.end(bytes);
      if (request.url === "/gone") response.writeHead(404).end();
      if (request.url === "/endless") for (let i = 0; i < 10; i++) response.write(bytes);
      if (request.url === "/stalls") response.write(bytes.subarray(0, 10));
    });
    const file = await build(desk, "setup.exe", bytes);
    const publishAt = async (desk: Desk, names: string[]) => {
      for (const [i, name] of names.entries()) {
        await publish(desk, file, `1.0.${i}`, { destination: { to: "url", url: `${origin.url}/${name}` } });
      }
    };
    await publishAt(desk, ["good", "gone", "endless"]);
    expect(await verify(desk)).toEqual([]);
    expect((await verify(desk, true)).map(({ problem }) => problem)).toEqual([
      null,
      "it answered 404",
      "it is longer than the catalog says",
    ]);
    const silent = await newDesk();
    await publishAt(silent, ["stalls", "hangs"]);
    expect((await verify(silent, true, 200)).map(({ problem }) => problem)).toEqual([
      expect.stringContaining("nothing came"),
      expect.stringContaining("nothing came"),
    ]);
  });

  test("says that what is in a storage cannot be asked for without one", async () => {
    const desk = await newDesk();
    await mkdir(path.dirname(desk.manifest));
    const installer = remoteArtifact({ url: undefined, s3Key: "core/setup.exe" });
    await writeFile(desk.manifest, manifestText([manifestEntry({ artifacts: { installer } })]));
    expect(await verify(desk, true)).toMatchObject([{ problem: expect.stringContaining("RELEASE_S3_ENDPOINT") }]);
  });
});
