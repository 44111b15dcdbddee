import path from "node:path";
import { createClient, currentUser, openOfflineEntitlements, signOut } from "@homeport/client";
import { signInWithBrowser } from "@homeport/client/node";
import { app, BrowserWindow, ipcMain, shell } from "electron";
import { autoUpdater } from "electron-updater";
import { encryptedFile } from "./encrypted-file";

const SERVER = "http://localhost:3000";
const DAY_MS = 24 * 60 * 60 * 1000;

const homeport = createClient({ url: SERVER, clientId: "desktop", session: encryptedFile("session") });
const entitlements = openOfflineEntitlements(homeport, {
  audience: "com.example.acme",
  store: encryptedFile("entitlements"),
});

/** Fetches a new token. Offline, the one of the last time holds. */
const refresh = () => entitlements.refresh().catch(() => {});

/** Who is signed in, and whether the feature is open. Offline, the user is unknown, and the feature stays open. */
async function readAccount() {
  const user = await currentUser(homeport).catch(() => null);
  return { email: user?.email ?? null, hasPro: (await entitlements.check())?.includes("pro") ?? false };
}

ipcMain.handle("account", readAccount);

ipcMain.handle("sign-in", async () => {
  await signInWithBrowser(homeport, { open: (url) => shell.openExternal(url) });
  await refresh();
  return readAccount();
});

ipcMain.handle("sign-out", async () => {
  await entitlements.clear();
  await signOut(homeport).catch(() => {}); // offline: the token is forgotten here, and ends by itself
  return readAccount();
});

app.whenReady().then(async () => {
  await refresh();
  setInterval(refresh, DAY_MS);
  const window = new BrowserWindow({ webPreferences: { preload: path.join(app.getAppPath(), "out/preload.js") } });
  await window.loadFile("src/index.html");
  if (app.isPackaged) await autoUpdater.checkForUpdatesAndNotify().catch(() => null); // offline
});

app.on("window-all-closed", () => app.quit());
