import { EventEmitter } from "node:events";
import Module from "node:module";

/** Electron's autoUpdater on macOS: it does as Squirrel.Mac, and keeps the archive that it would install. */
class AutoUpdater extends EventEmitter {
  archive: Buffer | null = null;
  #feed: { url: string; headers: Record<string, string> } | null = null;

  setFeedURL(feed: { url: string; headers: Record<string, string> }): void {
    this.#feed = feed;
  }

  checkForUpdates(): void {
    this.#download().then(
      () => this.emit("update-downloaded"),
      (error: unknown) => this.emit("error", error),
    );
  }

  async #download(): Promise<void> {
    const { url = "", headers = {} } = this.#feed ?? {};
    const update = (await (await fetch(url, { headers })).json()) as { url: string };
    this.archive = Buffer.from(await (await fetch(update.url)).arrayBuffer());
  }
}

type Load = (request: string, ...rest: unknown[]) => unknown;

/** Makes `require("electron")` return these parts of Electron, which exists inside its own processes alone. */
export function provideElectron(): { autoUpdater: AutoUpdater } {
  const electron = { autoUpdater: new AutoUpdater() };
  const modules = Module as unknown as { _load: Load };
  const load = modules._load;
  modules._load = (request, ...rest) => (request === "electron" ? electron : load.call(Module, request, ...rest));
  return electron;
}
