import { contextBridge, ipcRenderer } from "electron";

export type Account = { email: string | null; hasPro: boolean };

/** What the page may ask of the main process, which alone has the session's token. */
const acme = {
  account: (): Promise<Account> => ipcRenderer.invoke("account"),
  signIn: (): Promise<Account> => ipcRenderer.invoke("sign-in"),
  signOut: (): Promise<Account> => ipcRenderer.invoke("sign-out"),
};
export type Acme = typeof acme;

contextBridge.exposeInMainWorld("acme", acme);
