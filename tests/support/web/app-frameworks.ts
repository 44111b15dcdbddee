import { newFolder } from "@/tests/support/guide";

/** What the fake of Electron's main process does. */
type ElectronApp = { folder: string; open: (url: string) => unknown; handlers: Map<string, () => Promise<unknown>> };
/** What the fakes of Tauri's plugins do. `onOpenUrl` is the listener that the app has registered. */
type TauriApp = { open: (url: string) => unknown; requests: string[]; onOpenUrl: ((urls: string[]) => void) | null };
const apps = globalThis as { electronApp?: ElectronApp; tauriApp?: TauriApp };

/** The parts of `electron` that the guide uses, as its documentation has them. Its keychain reverses the text. */
export const ELECTRON = {
  electron: `
    const { folder, open, handlers } = globalThis.electronApp;
    export const app = { getPath: (name) => (name === "userData" ? folder : "/nonexistent") };
    export const ipcMain = { handle: (channel, listener) => void handlers.set(channel, listener) };
    export const shell = { openExternal: async (url) => void open(url) };
    export const safeStorage = {
      encryptString: (text) => Buffer.from(text).reverse(),
      decryptString: (bytes) => Buffer.from(bytes).reverse().toString(),
    };`,
};

/** The same of Tauri's plugins. */
export const TAURI = {
  "@tauri-apps/plugin-opener": "export const openUrl = async (url) => void globalThis.tauriApp.open(url);",
  "@tauri-apps/plugin-deep-link": `
    export const onOpenUrl = async (listener) => {
      globalThis.tauriApp.onOpenUrl = listener;
      return () => { globalThis.tauriApp.onOpenUrl = null; };
    };`,
  "@tauri-apps/plugin-http": `
    export const fetch = (url, init) => {
      globalThis.tauriApp.requests.push(new URL(url).pathname);
      return globalThis.fetch(url, init);
    };`,
};

/** An Electron app for the next module that imports `electron`. `invoke` is what its renderer calls. */
export async function newElectronApp(open: (url: string) => unknown) {
  const app: ElectronApp = { folder: await newFolder(), open, handlers: new Map() };
  apps.electronApp = app;
  return { folder: app.folder, invoke: (channel: string) => app.handlers.get(channel)?.() };
}

/** A Tauri app. */
export function newTauriApp(open: (url: string) => unknown): TauriApp {
  apps.tauriApp = { open, requests: [], onOpenUrl: null };
  return apps.tauriApp;
}
