import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "esbuild";
import type { Page } from "playwright-core";

/** Where Tauri serves an app's page on Windows. */
const URL_OF_APP = "http://tauri.localhost/";
/** Tauri's own fake of the Rust side's calls and events. */
const MOCKS = `
  import { emit } from "@tauri-apps/api/event";
  import { mockIPC } from "@tauri-apps/api/mocks";
  mockIPC((command, args) => window.core(command, JSON.parse(JSON.stringify(args ?? {}))), { shouldMockEvents: true });
  window.openLink = (url) => emit("deep-link://new-url", [url]);`;

type Update = { version: string; url: string };
type HttpRequest = { url: string; method: string; headers: [string, string][]; data: number[] | null };
/** What the commands of the Rust side take. */
type Arguments = {
  headers: [string, string][];
  rid: number;
  url: string;
  token: string | null;
  clientConfig: HttpRequest;
};

/**
 * Serves the page of a built example as Tauri does, with its Content-Security-Policy, and does what the Rust side does.
 * `signIn` opens a URL in the system's browser and resolves to the link by which it returns to the app.
 */
export async function provideTauri(page: Page, copy: string, signIn: (url: string) => Promise<string>) {
  const configOf = async (file: string) => JSON.parse(await readFile(path.join(copy, "src-tauri", file), "utf8"));
  const { app, plugins } = await configOf("tauri.conf.json");
  const { permissions } = await configOf("capabilities/default.json");
  const installed: string[] = [];
  const commands = {
    ...keychain(),
    ...http(permissions.find((one: { identifier?: string }) => one.identifier === "http:default").allow),
    ...updater(plugins.updater.endpoints[0], installed),
    "plugin:process|restart": () => void page.reload(),
    "plugin:opener|open_url": async ({ url }: Arguments) => {
      const link = await signIn(url);
      await page.evaluate((to) => (window as unknown as { openLink: (url: string) => unknown }).openLink(to), link);
    },
  };
  await page.exposeFunction("core", (command: keyof typeof commands, args: Arguments) => commands[command](args));
  const bundle = { bundle: true, write: false, format: "iife" } as const;
  const { outputFiles } = await build({ stdin: { contents: MOCKS, resolveDir: copy }, ...bundle });
  await page.addInitScript(outputFiles[0]?.text ?? "");
  await page.route(`${URL_OF_APP}**`, (route) => {
    const file = path.join(copy, "dist", new URL(route.request().url()).pathname.replace(/\/$/, "/index.html"));
    const headers = { "content-security-policy": app.security.csp };
    return existsSync(file) ? route.fulfill({ path: file, headers }) : route.fulfill({ status: 404 });
  });
  return { url: URL_OF_APP, installed };
}

/** The commands of the example's main.rs. */
function keychain() {
  let stored: string | null = null;
  return {
    load_session: () => stored,
    save_session: ({ token }: Arguments) => {
      stored = token;
    },
  };
}

/** The updater plugin, but for its check of the signature. An installed update is what runs next. */
function updater(endpoint: string, installed: string[]) {
  const updates: Update[] = [];
  return {
    "plugin:updater|check": async ({ headers }: Arguments) => {
      const currentVersion = installed.at(-1) ?? "1.0.0";
      const arch = process.arch === "x64" ? "x86_64" : "aarch64";
      const values = { target: "linux", arch, current_version: currentVersion, bundle_type: "appimage" };
      const url = endpoint.replace(/\{\{(\w+)\}\}/g, (_, name: keyof typeof values) => values[name]);
      const response = await fetch(url, { headers });
      if (response.status === 204) return null;
      const update = (await response.json()) as Update;
      return { rid: updates.push(update) - 1, currentVersion, version: update.version, rawJson: update };
    },
    "plugin:updater|download_and_install": async ({ rid }: Arguments) => {
      const { url, version } = updates[rid] as Update;
      if ((await fetch(url)).ok) installed.push(version);
    },
  };
}

/** The HTTP plugin, which sends requests to allowed URLs alone. The last byte of a body's part says whether it is the end. */
function http(allowed: { url: string }[]) {
  const requests: HttpRequest[] = [];
  const bodies: number[][][] = [];
  return {
    "plugin:http|fetch": ({ clientConfig }: Arguments) => {
      if (!allowed.some(({ url }) => clientConfig.url.startsWith(url.replace("*", ""))))
        throw new Error(`url not allowed on the configured scope: ${clientConfig.url}`);
      return requests.push(clientConfig) - 1;
    },
    "plugin:http|fetch_send": async ({ rid }: Arguments) => {
      const { url, method, headers, data } = requests[rid] as HttpRequest;
      const response = await fetch(url, { method, headers, body: data && Buffer.from(data) });
      bodies[rid] = [[...new Uint8Array(await response.arrayBuffer()), 0], [1]];
      return { status: response.status, statusText: "", url: response.url, headers: [...response.headers], rid };
    },
    "plugin:http|fetch_read_body": ({ rid }: Arguments) => bodies[rid]?.shift(),
    "plugin:http|fetch_cancel_body": () => {},
  };
}
