import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "./http/client.js";
import { HomeportError } from "./http/problem.js";
import { beginSignIn, completeSignIn, type PendingSignIn } from "./sign-in/oauth.js";
import type { InstalledApp } from "./updates.js";

const PATH = "/callback";
const TIMEOUT_MINUTES = 10;

export type BrowserSignIn = {
  /** Opens a URL in the system's browser: `shell.openExternal` in Electron. */
  open: (url: string) => unknown;
  /** What the browser shows at the end, as HTML. */
  page?: string;
  signal?: AbortSignal;
};

/**
 * Signs in through the system's browser, which returns to a port of 127.0.0.1 (RFC 8252, section 7.3).
 * @throws HomeportError `access_denied` if the user cancels, `timed_out` after ten minutes
 */
export async function signInWithBrowser(client: Client, { open, page, signal }: BrowserSignIn): Promise<void> {
  const timeout = AbortSignal.timeout(TIMEOUT_MINUTES * 60_000);
  const server = createServer().listen(0, "127.0.0.1");
  try {
    await once(server, "listening", { signal });
    const { port } = server.address() as AddressInfo;
    const pending = await beginSignIn(client, `http://127.0.0.1:${port}${PATH}`);
    const returned = callbackOf(server, pending, page ?? "<!doctype html><p>You can close this window.", [
      timeout,
      ...(signal ? [signal] : []),
    ]);
    await Promise.race([returned, Promise.resolve(open(pending.url)).then(() => returned)]);
    await completeSignIn(client, pending, await returned);
  } catch (error) {
    if (timeout.aborted) throw new HomeportError("timed_out", { cause: error });
    throw error;
  } finally {
    server.close();
    server.closeIdleConnections();
  }
}

/** The URL to which the browser returns. One of another sign-in is refused, so that no other program can end this one. */
function callbackOf(server: Server, pending: PendingSignIn, page: string, signals: AbortSignal[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.any(signals);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    server.on("request", (request, response) => {
      const url = new URL(request.url ?? "/", pending.redirectUri);
      const isReturn = url.pathname === PATH && url.searchParams.get("state") === pending.state;
      response.writeHead(isReturn ? 200 : 404, { "content-type": "text/html; charset=utf-8", connection: "close" });
      response.end(isReturn ? page : "");
      if (isReturn) response.on("finish", () => resolve(url.href));
    });
  });
}

/** The platform and architecture of this computer, for `checkForUpdate`. */
export function thisComputer(): Pick<InstalledApp, "platform" | "architecture"> {
  const platform = process.platform === "win32" ? "windows" : process.platform === "darwin" ? "macos" : "linux";
  return { platform, architecture: process.arch };
}
