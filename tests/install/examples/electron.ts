import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import EventEmitter, { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { onTestFinished } from "vitest";
import { run, SHELL } from "./programs";

/**
 * Packages the example as electron-builder does and starts it: the main process in Node, the window in the browser, both with
 * fake versions of Electron's modules. Electron's own programs are not in its npm package.
 */
export async function startElectron(copy: string, browser: Browser, openExternal: (url: string) => unknown) {
  const { child, installed } = await startMain(copy);
  const events = new EventEmitter();
  child.on("message", ({ event, value }: { event: string; value: unknown }) => events.emit(event, value));
  const notifications: string[] = [];
  events.on("notification", (body) => notifications.push(body));
  events.on("open", openExternal);
  let printed = "";
  child.stderr?.on("data", (chunk) => {
    printed += chunk;
  });
  child.on(
    "exit",
    (code) => code && events.emit("error", new Error(`The main process ended with ${code}:\n${printed}`)),
  );
  const [{ file, preload }] = await once(events, "window");
  const window = await browser.newPage();
  onTestFinished(() => window.close());
  await window.exposeFunction("invoke", async (channel: string) => {
    const answer = randomUUID();
    child.send({ answer, channel });
    const [{ result, error }] = await once(events, answer);
    if (error) throw new Error(error);
    return result;
  });
  await window.addInitScript(`{
    const ipcRenderer = { invoke: (channel) => window.invoke(channel) };
    const contextBridge = { exposeInMainWorld: (name, value) => Object.assign(window, { [name]: value }) };
    const [module, require] = [{}, () => ({ ipcRenderer, contextBridge })];
    ${await readFile(preload, "utf8")}
  }`);
  await window.goto(pathToFileURL(file).href);

  /** Closes the window, which ends the app. Returns what is installed then. */
  async function quit(): Promise<string[]> {
    child.send({});
    await once(child, "exit");
    return readdir(installed);
  }

  return { window, notifications, quit };
}

/** Starts the main process of the app that is installed in a folder, as an AppImage. */
async function startMain(copy: string) {
  const beside = (...names: string[]) => path.join(copy, "..", ...names);
  await mkdir(beside("distribution"));
  await writeFile(beside("distribution", "electron"), "", { mode: 0o755 });
  const options = ["--linux", "dir", `-c.electronDist=${beside("distribution")}`, "-c.asar=false"];
  await run(copy, "npm", "run", "dist", "--", ...options);
  const unpacked = (await readdir(path.join(copy, "dist"))).find((name) => name.endsWith("unpacked")) ?? "";
  const installed = beside("installed");
  const appImage = path.join(installed, "Acme-1.0.0.AppImage");
  await mkdir(installed);
  await writeFile(appImage, "");
  await mkdir(beside("user-data"));
  const child = fork(path.join(copy, "dist", unpacked, "resources", "app"), [], {
    execArgv: ["--require", path.resolve(import.meta.dirname, "electron-main.cjs")],
    env: { ...SHELL, APPIMAGE: appImage, XDG_CACHE_HOME: beside("cache"), USER_DATA: beside("user-data") },
    stdio: ["ignore", "ignore", "pipe", "ipc"], // electron-updater logs what it does
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, installed };
}
