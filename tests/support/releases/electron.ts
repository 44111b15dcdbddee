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

/** What of electron-updater's inside a test has to set outside of Electron. */
type Inside = { httpExecutor: NodeHttpExecutor; _testOnlyOptions: unknown; createProviderRuntimeOptions: () => object };

const UPDATERS = {
  nsis: ["win32", "NsisUpdater"],
  mac: ["darwin", "MacUpdater"],
  appimage: ["linux", "AppImageUpdater"],
  deb: ["linux", "DebUpdater"],
  rpm: ["linux", "RpmUpdater"],
} as const;
type Kind = keyof typeof UPDATERS;

/**
 * electron-updater's NSIS updater in an installed app of this version, whose app-update.yml is as electron-builder
 * writes it. `connect` sets it up as the app would. Nothing is downloaded before `downloadUpdate`.
 */
export async function installedApp(version: string, connect: (updater: AppUpdater) => void): Promise<AppUpdater> {
  const { updater, inside } = await makeApp("nsis", version, "https://updates.example.com");
  inside._testOnlyOptions = { platform: "win32" }; // what the updater takes for its platform while it is set up
  connect(updater);
  inside._testOnlyOptions = null;
  return updater;
}

/**
 * electron-updater in an installed app of this version, with nothing but the app-update.yml that electron-builder writes
 * for the generic provider. `cache`: the folder in which the updater keeps what it has downloaded.
 */
export async function stockApp(kind: Kind, version: string, url: string) {
  const { updater, inside, cache } = await makeApp(kind, version, url);
  const [platform] = UPDATERS[kind];
  const executor = inside.httpExecutor;
  inside.createProviderRuntimeOptions = () => ({ isUseMultipleRangeRequest: true, platform, executor });
  return { updater, cache };
}

async function makeApp(kind: Kind, version: string, url: string) {
  const folder = await newFolder();
  const appUpdateConfigPath = path.join(folder, "app-update.yml");
  await mkdir(path.join(folder, "user"));
  await writeFile(appUpdateConfigPath, `provider: generic\nurl: ${url}\nupdaterCacheDirName: app-updater\n`);
  const [, name] = UPDATERS[kind];
  const updater: AppUpdater = new electronUpdater[name](undefined, {
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
  const inside = updater as unknown as Inside;
  inside.httpExecutor = new NodeHttpExecutor();
  return { updater, inside, cache: path.join(folder, "app-updater") };
}
