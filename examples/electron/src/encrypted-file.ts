import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { app, safeStorage } from "electron";

/** A file of the app that the system's keychain encrypts: a store for the session and for what the app needs offline. */
export function encryptedFile(name: string) {
  const file = path.join(app.getPath("userData"), name);

  /** null: there is no file, or the keychain has another key, as after a move to another computer. */
  async function load(): Promise<string | null> {
    try {
      return safeStorage.decryptString(await readFile(file));
    } catch {
      return null;
    }
  }

  async function save(text: string | null): Promise<void> {
    await (text === null ? rm(file, { force: true }) : writeFile(file, safeStorage.encryptString(text)));
  }

  return { load, save };
}
