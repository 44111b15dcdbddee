import { createHash, randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { deflateRawSync, gzipSync } from "node:zlib";
import type { AppUpdater } from "electron-updater";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { provideElectron } from "@/tests/support/electron/runtime";
import { startCountingProxy } from "@/tests/support/network/counting-proxy";
import { anyDatabase, type Service, startService } from "@/tests/support/process/service";
import { stockApp } from "@/tests/support/releases/electron";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { describeFile, manifestText } from "@/tests/support/releases/releases";
import { blockMapOf } from "@/tests/support/releases/tools/block-map";

const SIZE = 10 * 1024 * 1024;
const BLOCK_BYTES = 16 * 1024;
/** 3% of the file, in ten places, which are not those of blocks. */
const CHANGED_PLACES = 10;
const CHANGED_BYTES = Math.floor((SIZE * 0.03) / CHANGED_PLACES);

const electron = provideElectron();
let fixture: { folder: string; service: Service; proxy: Awaited<ReturnType<typeof startCountingProxy>> };

beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-electron-"));
  const old = randomBytes(SIZE);
  const changed = Buffer.from(old);
  for (let i = 0; i < CHANGED_PLACES; i++) {
    randomBytes(CHANGED_BYTES).copy(changed, Math.floor((i + 0.5) * (SIZE / CHANGED_PLACES)) + 5_000);
  }
  const releases = [...(await versionOf(folder, "1.0.0", old)), ...(await versionOf(folder, "1.1.0", changed))];
  await writeFile(path.join(folder, "catalog.json"), manifestText(releases));
  const service = await startService({ RELEASE_CATALOG: path.join(folder, "catalog.json"), ...(await anyDatabase()) });
  fixture = { folder, service, proxy: await startCountingProxy(service.url) };
});

afterAll(async () => {
  fixture.proxy.close();
  await fixture.service.end("SIGKILL");
  await rm(fixture.folder, { recursive: true, force: true });
});

afterEach(() => vi.unstubAllEnvs());

/** The releases of one version for all platforms, which share their bytes. */
async function versionOf(folder: string, version: string, bytes: Buffer): Promise<EntryFields[]> {
  const blocks = Buffer.from(mapOf(bytes));
  const blockMap = await store(folder, `${version}.blockmap`, gzipSync(blocks));
  const file = await store(folder, `${version}.bin`, bytes);
  const small = (fileName: string) => store(folder, fileName, Buffer.from(fileName));
  const embedded = deflateRawSync(blocks);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(embedded.length);
  const appImage = await store(folder, `Acme-${version}.AppImage`, Buffer.concat([bytes, embedded, length]));
  const release = (platform: string, architecture: string, artifacts: EntryFields) =>
    manifestEntry({ platform, architecture, version, artifacts });
  const { fileName: _, sha512: __, ...storedMap } = blockMap;
  const withMap = { ...file, blockMap: storedMap };
  return [
    release("windows", "x64", { update: { ...withMap, fileName: `Acme Setup ${version}.exe` } }),
    release("windows", "arm64", { update: await small(`Acme Setup ${version}-arm.exe`) }),
    release("macos", "universal", {
      update: { ...withMap, fileName: `Acme-${version}-mac.zip` },
      installer: await small(`Acme-${version}.dmg`),
    }),
    release("linux", "x64", {
      update: { ...appImage, embeddedBlockMapBytes: embedded.length },
      others: [await small(`acme_${version}_amd64.deb`), await small(`acme-${version}.x86_64.rpm`)],
    }),
  ];
}

async function store(folder: string, name: string, bytes: Buffer) {
  await writeFile(path.join(folder, name), bytes);
  return describeFile(name, bytes);
}

/** A block map whose blocks have one size. */
const mapOf = (bytes: Buffer) =>
  JSON.stringify(
    blockMapOf(
      ...Array.from({ length: Math.ceil(bytes.length / BLOCK_BYTES) }, (_, i) =>
        bytes.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES),
      ),
    ),
  );

const sha512 = (bytes: Uint8Array) => createHash("sha512").update(bytes).digest("base64");

type Kind = Parameters<typeof stockApp>[0];

/** An installed app whose updater has the file of version 1.0.0, as after an installation or an update. */
async function installed(kind: Kind, previous: string | null): Promise<{ updater: AppUpdater; cache: string }> {
  const app = await stockApp(kind, "1.0.0", `${fixture.proxy.url}/api/updates/core/stable`);
  await mkdir(app.cache, { recursive: true });
  if (previous) await copyFile(path.join(fixture.folder, "1.0.0.bin"), path.join(app.cache, previous));
  return app;
}

/** Updates an app. `share`: the bytes that the server sent, of the size of the file. */
async function update({ updater }: { updater: AppUpdater }) {
  const before = fixture.proxy.receivedBytes();
  const found = await updater.checkForUpdates();
  expect(found).toMatchObject({ isUpdateAvailable: true, updateInfo: { version: "1.1.0" } });
  const [file = ""] = await updater.downloadUpdate();
  return { file, bytes: await readFile(file), share: (fixture.proxy.receivedBytes() - before) / SIZE };
}

const published = async (name: string) => sha512(await readFile(path.join(fixture.folder, name)));

describe("electron-updater with the generic provider and no code", () => {
  test("on Windows downloads at most a tenth of an installer of which 3% have changed", async () => {
    const { bytes, file, share } = await update(await installed("nsis", "installer.exe"));
    expect(path.basename(file)).toBe("Acme Setup 1.1.0.exe");
    expect(sha512(bytes)).toBe(await published("1.1.0.bin"));
    expect(share).toBeLessThan(0.1);
  });

  test("on macOS downloads at most a tenth, and hands the whole archive to Squirrel.Mac", async () => {
    const { bytes, share } = await update(await installed("mac", "update.zip"));
    expect(sha512(bytes)).toBe(await published("1.1.0.bin"));
    expect(electron.autoUpdater.archive && sha512(electron.autoUpdater.archive)).toBe(sha512(bytes));
    expect(share).toBeLessThan(0.1);
  });

  test("on Linux downloads at most a tenth of an AppImage, by the block map at its end", async () => {
    vi.stubEnv("APPIMAGE", path.join(fixture.folder, "Acme-1.0.0.AppImage"));
    const { bytes, file, share } = await update(await installed("appimage", null));
    expect(path.basename(file)).toBe("Acme-1.1.0.AppImage");
    expect(sha512(bytes)).toBe(await published("Acme-1.1.0.AppImage"));
    expect(share).toBeLessThan(0.1);
  });

  test.each([
    ["deb", "acme_1.1.0_amd64.deb"],
    ["rpm", "acme-1.1.0.x86_64.rpm"],
  ] as const)("installed as a %s on Linux never gets an AppImage", async (kind, name) => {
    const { bytes, file } = await update(await installed(kind, null));
    expect([path.basename(file), bytes.toString()]).toEqual([name, name]);
  });

  test("on Windows downloads the build for its own architecture", async () => {
    const { arch } = process;
    Object.defineProperty(process, "arch", { value: "arm64" });
    try {
      const app = await installed("nsis", null);
      app.updater.disableDifferentialDownload = true;
      expect((await update(app)).bytes.toString()).toBe("Acme Setup 1.1.0-arm.exe");
    } finally {
      Object.defineProperty(process, "arch", { value: arch });
    }
  });

  test("downloads the whole installer if the block map of the previous version is not there", async () => {
    const app = await stockApp("nsis", "0.9.0", `${fixture.proxy.url}/api/updates/core/stable`);
    await mkdir(app.cache, { recursive: true });
    await writeFile(path.join(app.cache, "installer.exe"), "an older version");
    const { bytes, share } = await update(app);
    expect(sha512(bytes)).toBe(await published("1.1.0.bin"));
    expect(share).toBeGreaterThan(1);
  });
});
