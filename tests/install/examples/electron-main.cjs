// The parts of Electron's main process that the example and electron-updater use, in Node: --require loads it before the app's
// folder, which is where electron-builder has put it. A message calls a handler, or closes the window.
const { EventEmitter } = require("node:events");
const http = require("node:http");
const Module = require("node:module");
const path = require("node:path");

const appPath = path.resolve(process.argv[1]);
const { productName, version } = require(path.join(appPath, "package.json"));
process.resourcesPath = path.dirname(appPath);

const send = (event, value) => process.send({ event, value });
const handlers = new Map();
const app = Object.assign(new EventEmitter(), {
  isPackaged: true,
  getAppPath: () => appPath,
  getName: () => productName,
  getVersion: () => version,
  getPath: () => process.env.USER_DATA,
  whenReady: async () => {},
  quit() {
    app.emit("quit", {}, 0);
    process.exit();
  },
});

class BrowserWindow {
  constructor({ webPreferences }) {
    this.preload = webPreferences.preload;
  }

  async loadFile(file) {
    send("window", { preload: this.preload, file: path.join(appPath, file) });
  }
}

class Notification {
  constructor({ body }) {
    this.body = body;
  }

  show() {
    send("notification", this.body);
  }
}

const electron = {
  app,
  BrowserWindow,
  Notification,
  ipcMain: { handle: (channel, listener) => handlers.set(channel, listener) },
  net: { request: ({ session: _, ...options }) => http.request({ ...options, agent: false }) },
  safeStorage: {
    encryptString: (text) => Buffer.from(text).reverse(),
    decryptString: (bytes) => Buffer.from(bytes).reverse().toString(),
  },
  session: { fromPartition: () => null },
  shell: { openExternal: async (url) => send("open", url) },
};

const load = Module._load;
Module._load = (request, ...rest) => (request === "electron" ? electron : load.call(Module, request, ...rest));

process.on("message", async ({ answer, channel }) => {
  if (!channel) return app.emit("window-all-closed");
  try {
    send(answer, { result: await handlers.get(channel)() });
  } catch (error) {
    send(answer, { error: String(error) });
  }
});
