import { mkdir, writeFile } from "node:fs/promises";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import path from "node:path";
import electronUpdater, { type AppUpdater } from "electron-updater";
import { ElectronHttpExecutor } from "electron-updater/out/electronHttpExecutor.js";
import { newFolder } from "@/tests/support/guide";

/** electron-updater's own way to ask and to download, over Node's HTTP client in place of Electron's. */
class NodeHttpExecutor extends ElectronHttpExecutor {
  override createRequest(options: RequestOptions, callback: (response: IncomingMessage) => void) {
    return request({ ...options, agent: false }, callback) as unknown as ReturnType<
      ElectronHttpExecutor["createRequest"]
    >;
  }
}

/**
 * electron-updater's NSIS updater in an installed app of this version, whose app-update.yml is as electron-builder
 * writes it. `connect` sets it up as the app would. Nothing is downloaded before `downloadUpdate`.
 */
export async function installedApp(version: string, connect: (updater: AppUpdater) => void): Promise<AppUpdater> {
  const folder = await newFolder();
  const appUpdateConfigPath = path.join(folder, "app-update.yml");
  await mkdir(path.join(folder, "user"));
  await writeFile(
    appUpdateConfigPath,
    "provider: generic\nurl: https://updates.example.com\nupdaterCacheDirName: app-updater\n",
  );
  const updater = new electronUpdater.NsisUpdater(null, {
    version,
    name: "app",
    isPackaged: true,
    appUpdateConfigPath,
    userDataPath: path.join(folder, "user"),
    baseCachePath: folder,
    whenReady: async () => {},
    relaunch: () => {},
    quit: () => {},
    onQuit: () => {},
  });
  updater.logger = null;
  updater.autoDownload = false;
  const inside = updater as unknown as { httpExecutor: NodeHttpExecutor; _testOnlyOptions: unknown };
  inside.httpExecutor = new NodeHttpExecutor();
  inside._testOnlyOptions = { platform: "win32" }; // what the updater takes for its platform while it is set up
  connect(updater);
  inside._testOnlyOptions = null;
  return updater;
}
