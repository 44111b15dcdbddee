import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setVelopackLogger, UpdateManager } from "velopack";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newFolder } from "@/tests/support/guide";
import { listen } from "@/tests/support/network/listen";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startService } from "@/tests/support/process/service";
import { installedApp } from "@/tests/support/releases/electron";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { MINISIGN } from "@/tests/support/releases/feeds";
import { describeFile, manifestText } from "@/tests/support/releases/releases";

const hash = (algorithm: string, bytes: Uint8Array) => createHash(algorithm).update(bytes).digest("hex");

/** A server of files by path alone, and the folder with the catalog. */
let fixture: { folder: string; service: Service; base: string; edKey: KeyObject; close: () => void };

beforeAll(async () => {
  setVelopackLogger(() => {});
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-mirror-"));
  const mirror = path.join(folder, "mirror");
  await mkdir(path.join(folder, "catalog"));
  const server = createServer(async ({ url = "" }, response) => {
    const file = path.join(mirror, ...new URL(url, "http://mirror").pathname.split("/").map(decodeURIComponent));
    const isFile = (await stat(file).catch(() => null))?.isFile();
    if (!isFile) return void response.writeHead(404).end();
    createReadStream(file).pipe(response);
  });
  const origin = `http://${await listen(server)}`;
  const { privateKey, publicKey: edKey } = generateKeyPairSync("ed25519");
  const make = releasesIn(path.join(folder, "catalog"), privateKey);
  const published = [...(await make("1.0.0")), ...(await make("1.1.0"))];
  const service = await startService({
    RELEASE_CATALOG: path.join(folder, "catalog/catalog.json"),
    RELEASE_MIRROR: mirror,
    RELEASE_MIRROR_URL: origin,
  });
  const publish = (...releases: EntryFields[]) =>
    replace(path.join(folder, "catalog/catalog.json"), manifestText(releases));
  await publish(...published);
  await isMirrored(service, path.join(mirror, "api/updates/core/stable"), "1.1.0");
  const [withdrawn] = await make("1.2.0");
  await publish(...published, ...(await make("1.3.0", { rollout: 20 })), { ...withdrawn });
  await isMirrored(service, path.join(mirror, "api/updates/core/stable"), "1.2.0");
  await publish(...published, ...(await make("1.3.0", { rollout: 20 })), { ...withdrawn, yanked: true });
  await isMirrored(service, path.join(mirror, "api/updates/core/stable"), "1.1.0");
  fixture = { folder, service, base: `${origin}/api/updates/core/stable`, edKey, close: () => server.close() };
});

afterAll(async () => {
  fixture.close();
  await rm(fixture.folder, { recursive: true, force: true });
});

/** The releases of a version for every updater, which are written to a folder. */
const releasesIn =
  (folder: string, key: KeyObject) =>
  async (version: string, change: EntryFields = {}) => {
    const store = async (fileName: string) => {
      const bytes = randomBytes(100_000);
      await writeFile(path.join(folder, fileName), bytes);
      const edSignature = sign(null, bytes, key).toString("base64");
      return describeFile(fileName, bytes, { sha1: hash("sha1", bytes), edSignature, minisign: MINISIGN });
    };
    const release = async (platform: string, architecture: string, name: string, ...others: string[]) => {
      const artifacts = { update: await store(name), others: await Promise.all(others.map(store)) };
      return manifestEntry({ id: `${platform}-${version}`, platform, architecture, version, artifacts, ...change });
    };
    return [
      await release("windows", "x64", `Acme Setup ${version}.exe`, `Acme-${version}-full.nupkg`),
      await release("macos", "universal", `Acme-${version}-mac.zip`),
      await release("linux", "x64", `com.acme.app-${version}-linux-full.nupkg`),
    ];
  };

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

/** Waits until the mirror offers a version, and the service says that it is current. */
const isMirrored = (service: Service, folder: string, version: string) =>
  vi.waitFor(
    async () => {
      expect(await readFile(path.join(folder, "latest.yml"), "utf8")).toContain(`version: "${version}"`);
      expect(await (await service.fetch("/api/health")).json()).toMatchObject({ checks: { mirror: "ok" } });
    },
    { timeout: 30_000 },
  );

const published = (name: string) => readFile(path.join(fixture.folder, "catalog", name));
const download = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());

test("homeport release mirror --verify finds every byte as the catalog has it, and what was changed", async () => {
  const verifyMirror = () =>
    runCommand("homeport", ["release", "mirror", "--verify"], { DATA_DIR: fixture.service.dataDir });
  expect(await verifyMirror()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d{2} valid, 0 invalid\n$/) });
  const file = path.join(fixture.folder, "mirror/api/updates/core/stable/1.1.0/windows-x64/Acme Setup 1.1.0.exe");
  const bytes = await readFile(file);
  await writeFile(file, randomBytes(bytes.length));
  const { code, stderr } = await verifyMirror();
  expect([code, stderr]).toEqual([1, "core/stable/1.1.0/windows-x64/Acme Setup 1.1.0.exe differs from the catalog\n"]);
  await writeFile(file, bytes);
});

describe("while no instance runs", () => {
  beforeAll(async () => {
    await fixture.service.end("SIGTERM");
    await expect(fixture.service.fetch("/api/health")).rejects.toThrow();
  });

  test("electron-updater updates from the mirror", async () => {
    const updater = await installedApp("1.0.0", (one) => one.setFeedURL({ provider: "generic", url: fixture.base }));
    expect(await updater.checkForUpdates()).toMatchObject({
      isUpdateAvailable: true,
      updateInfo: { version: "1.1.0" },
    });
    const [file = ""] = await updater.downloadUpdate();
    expect(hash("sha256", await readFile(file))).toBe(hash("sha256", await published("Acme Setup 1.1.0.exe")));
  });

  test("Velopack's UpdateManager updates from the mirror", async () => {
    const folder = await newFolder();
    const PackagesDir = path.join(folder, "packages");
    await mkdir(PackagesDir);
    const ManifestPath = path.join(folder, "sq.version");
    const UpdateExePath = path.join(folder, "UpdateNix");
    await writeFile(UpdateExePath, "");
    await writeFile(
      ManifestPath,
      `<?xml version="1.0" encoding="utf-8"?>
  <package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd"><metadata>
  <id>com.acme.app</id><title>Acme</title><description>Acme</description><authors>Acme</authors>
  <version>1.0.0</version><channel>linux</channel><mainExe>acme</mainExe><os>linux</os><rid>linux-x64</rid>
  </metadata></package>`,
    );
    const locator = {
      RootAppDir: folder,
      UpdateExePath,
      PackagesDir,
      ManifestPath,
      CurrentBinaryDir: folder,
      IsPortable: true,
    };
    const updater = new UpdateManager(fixture.base, undefined, locator);
    const found = await updater.checkForUpdatesAsync();
    expect(found?.TargetFullRelease.Version).toBe("1.1.0");
    if (found) await updater.downloadUpdateAsync(found);
    const name = "com.acme.app-1.1.0-linux-full.nupkg";
    expect(hash("sha256", await readFile(path.join(PackagesDir, name)))).toBe(hash("sha256", await published(name)));
  });

  test("Squirrel.Windows finds a package beside RELEASES, also below its architecture", async () => {
    for (const base of [fixture.base, `${fixture.base}/x64`]) {
      const text = (await download(`${base}/RELEASES?id=Acme&localVersion=1.0.0&arch=amd64`)).toString();
      const [, sha1 = "", name = "", size] = /^([0-9A-F]{40}) (\S+) (\d+)\n$/.exec(text) ?? [];
      const bytes = await download(`${base}/${name}`);
      expect([name, bytes.length, hash("sha1", bytes)]).toEqual([
        "Acme-1.1.0-full.nupkg",
        Number(size),
        sha1.toLowerCase(),
      ]);
    }
  });

  test("Tauri's request of an installed version, and that of the static file, lead to the file and its signature", async () => {
    const dynamic = await (await fetch(`${fixture.base}/windows/x86_64/1.0.0?bundleType=nsis`)).json();
    const { version, platforms } = await (await fetch(`${fixture.base}/latest.json`)).json();
    const bytes = await published("Acme Setup 1.1.0.exe");
    for (const target of [dynamic, dynamic.platforms["windows-x86_64-nsis"], platforms["windows-x86_64"]]) {
      expect(target.signature).toBe(MINISIGN);
      expect(hash("sha256", await download(target.url))).toBe(hash("sha256", bytes));
    }
    expect([dynamic.version, version]).toEqual(["1.1.0", "1.1.0"]);
  });

  test("Sparkle's feed has a file that the public key verifies, and Squirrel.Mac's static one the same", async () => {
    const appcast = (await download(`${fixture.base}/appcast.xml`)).toString();
    const item = appcast.split("<item>").find((one) => one.includes('sparkle:os="macos"')) ?? "";
    expect(item).toContain("<sparkle:version>1.1.0</sparkle:version>");
    const [, url = ""] = / url="([^"]+)"/.exec(item) ?? [];
    const [, edSignature = ""] = / sparkle:edSignature="([^"]+)"/.exec(item) ?? [];
    const bytes = await download(url);
    expect(verify(null, bytes, fixture.edKey, Buffer.from(edSignature, "base64"))).toBe(true);
    const { currentRelease, releases } = await (await fetch(`${fixture.base}/RELEASES.json`)).json();
    expect([currentRelease, releases[0].updateTo.url]).toEqual(["1.1.0", url]);
  });

  test("a link to the newest installer stays the same", async () => {
    const bytes = await download(`${fixture.base}/latest/windows-x64.exe`);
    expect(hash("sha256", bytes)).toBe(hash("sha256", await published("Acme Setup 1.1.0.exe")));
  });
});
