import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { addReleases } from "@/lib/admin/releases/add";
import { startCountingProxy } from "@/tests/support/network/counting-proxy";
import { newDataDir, preparedDataDir, type Service, startForTest } from "@/tests/support/process/service";
import { installedApp } from "@/tests/support/releases/electron";

const MIB = 1024 * 1024;

/** Publishes two versions of a program as `npm run release -- add` does, and serves them. */
async function serve(before: Buffer, after: Buffer): Promise<Service> {
  const folder = await newDataDir();
  const DATA_DIR = await preparedDataDir();
  const deps = {
    manifestFile: path.join(DATA_DIR, "releases", "catalog.json"),
    storage: null,
    now: () => new Date("2026-11-20T12:00:00Z"),
  };
  for (const [version, bytes] of [
    ["1.0.0", before],
    ["1.1.0", after],
  ] as const) {
    const file = path.join(folder, `Example Setup ${version}.exe`);
    await writeFile(file, bytes);
    const release = { product: "core", platform: "windows", architecture: "x64", version };
    await addReleases(deps, [{ release, files: [{ file, kinds: ["installer", "update"] }] }]);
  }
  return startForTest({ DATA_DIR });
}

/** Updates an installed app that keeps its installer. Returns what the new one has, and how many bytes were sent. */
async function update(service: Service, before: Buffer): Promise<{ installer: Buffer; sentBytes: number }> {
  const proxy = await startCountingProxy(service.url);
  onTestFinished(() => void proxy.close());
  const updater = await installedApp("1.0.0", (one) =>
    one.setFeedURL({ provider: "generic", url: `${proxy.url}/api/updates/core/stable` }),
  );
  const { baseCachePath } = (updater as unknown as { app: { baseCachePath: string } }).app;
  await mkdir(path.join(baseCachePath, "app-updater"), { recursive: true });
  await writeFile(path.join(baseCachePath, "app-updater", "installer.exe"), before);
  expect(await updater.checkForUpdates()).toMatchObject({ isUpdateAvailable: true });
  const [file = ""] = await updater.downloadUpdate();
  return { installer: await readFile(file), sentBytes: proxy.receivedBytes() };
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

test("electron-updater downloads a tenth of 100 MiB of which 3 % have changed", { timeout: 300_000 }, async () => {
  const before = randomBytes(100 * MIB);
  const after = Buffer.from(before);
  for (let i = 0; i < 100; i++) randomBytes(31_457).copy(after, i * MIB + 500_000);
  const { installer, sentBytes } = await update(await serve(before, after), before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes / after.length).toBeLessThan(0.1);
  expect(sentBytes / after.length).toBeGreaterThan(0.03);
});

test("electron-updater downloads 450 changed blocks by one request", { timeout: 300_000 }, async () => {
  const before = randomBytes(50 * MIB);
  const pieces: Buffer[] = [];
  for (let i = 0; i < 450; i++) pieces.push(before.subarray(i * 110_000, (i + 1) * 110_000), Buffer.from(`<${i}>`));
  const after = Buffer.concat([...pieces, before.subarray(450 * 110_000)]);
  const { installer, sentBytes } = await update(await serve(before, after), before);
  expect(sha256(installer)).toBe(sha256(after));
  expect(sentBytes).toBeLessThan(after.length / 2);
});
