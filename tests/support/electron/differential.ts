import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished } from "vitest";
import { addReleases } from "@/lib/releases/publishing/add";
import { startCountingProxy } from "@/tests/support/network/counting-proxy";
import { newDataDir, preparedDataDir, type Service } from "@/tests/support/process/service";
import { installedApp } from "@/tests/support/releases/electron";

/** A data folder in which versions 1.0.0 and 1.1.0 of a program are published as `homeport release add` does. */
export async function dataDirWithVersions(before: Buffer, after: Buffer): Promise<string> {
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
  return DATA_DIR;
}

/** Updates an installed app that keeps its installer. Returns what the new one has, and how many bytes were sent. */
export async function updateFrom(
  service: Pick<Service, "url">,
  before: Buffer,
): Promise<{ installer: Buffer; sentBytes: number }> {
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
