import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BuildOptions, build } from "esbuild";

const SOURCES = "clients/js/src";

/** A service worker of an app that has the kit, with the service's URL in its own. */
const WORKER = `
  import { createClient } from "./index";
  import { handlePushes } from "./service-worker";
  const url = new URL(location.href).searchParams.get("service");
  handlePushes({ client: createClient({ url, session: "cookie" }) });`;

/** A web app on an origin of its own. Its page has the kit as `kit`. */
export async function startWebApp(): Promise<{ origin: string; close: () => void }> {
  const files = new Map([
    [
      "/",
      { type: "text/html", body: '<!doctype html><html lang="en"><title>App</title><script src="/app.js"></script>' },
    ],
    [
      "/app.js",
      { type: "text/javascript", body: await bundle({ entryPoints: [`${SOURCES}/index.ts`], globalName: "kit" }) },
    ],
    [
      "/push-worker.js",
      { type: "text/javascript", body: await bundle({ entryPoints: [`${SOURCES}/push-worker.ts`] }) },
    ],
    [
      "/worker.js",
      { type: "text/javascript", body: await bundle({ stdin: { contents: WORKER, resolveDir: SOURCES } }) },
    ],
  ]);
  const server = createServer(({ url = "" }, response) => {
    const { type = "text/html", body = "" } = files.get(url.replace(/\?.*/, "")) ?? {};
    response.writeHead(body ? 200 : 404, { "content-type": type }).end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, close };
}

/** A module as a classic script. */
async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({ ...options, bundle: true, write: false, format: "iife", target: "es2022" });
  return outputFiles?.[0]?.text ?? "";
}
