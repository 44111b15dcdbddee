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

type WebApp = { origin: string; close: () => void };

/** A web app on an origin of its own. Its page has the kit as `kit`. */
export async function startWebApp(): Promise<WebApp> {
  return serve({
    "/app.js": await bundle({ entryPoints: [`${SOURCES}/index.ts`], globalName: "kit" }),
    "/push-worker.js": await bundle({ entryPoints: [`${SOURCES}/push-worker.ts`] }),
    "/worker.js": await bundle({ stdin: { contents: WORKER, resolveDir: SOURCES } }),
  });
}

/** Serves scripts, and a page that loads `/app.js`. */
async function serve(scripts: Record<string, string>): Promise<WebApp> {
  const page = '<!doctype html><html lang="en"><title>App</title><body><script src="/app.js"></script>';
  const server = createServer(({ url = "" }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const script = scripts[pathname];
    if (script) return void response.writeHead(200, { "content-type": "text/javascript" }).end(script);
    response.writeHead(pathname === "/" ? 200 : 404, { "content-type": "text/html" }).end(page);
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
