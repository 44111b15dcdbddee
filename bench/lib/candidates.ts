import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildSync } from "esbuild";
import type { Bench } from "./bench";
import type { ApplyLoad, Candidate } from "./compare";
import { isSmoke } from "./scale";
import { type Launch, type Server, startServer } from "./server";

type Prepare = (server: Server) => Promise<ApplyLoad>;
type Env = Record<string, string>;

const PEERS = path.join(import.meta.dirname, "..", "peers");
export const NAMES = {
  homeport: "Homeport",
  next: "next start",
  bare: "node:http",
  http2: "node:http2",
  express: "Express",
  fastify: "Fastify",
  parse: "Parse Server",
  parseNative: "Parse Server, @node-rs/bcrypt",
  parseJs: "Parse Server, bcryptjs",
  prisma: "node:http, one Prisma read",
  nginx: "nginx",
} as const;
export const PARSE_APP = { "x-parse-application-id": "bench" };

/** Homeport as `npm start` runs it. */
export function homeport(bench: Bench, prepare: Prepare, env: Env = {}): Candidate {
  return node(
    bench,
    NAMES.homeport,
    ["--v8-pool-size=1", "scripts/start.mjs"],
    prepare,
    () => ({ ...bench.env, ...env }),
    "/api/health",
  );
}

/** Homeport with push configured: its HTTP server, bundled as by `npm run build`, with a transport that accepts everything. */
export function homeportWithPush(bench: Bench, prepare: Prepare, env: Env): Candidate {
  const outfile = path.resolve(`.next/bench-${path.basename(bench.folder)}.mjs`);
  const entryPoints = [path.join(import.meta.dirname, "../fixtures/server-with-push.ts")];
  buildSync({ entryPoints, outfile, bundle: true, packages: "external", platform: "node", format: "esm" });
  return node(bench, NAMES.homeport, [outfile], prepare, () => ({ ...bench.env, ...env }), "/api/health");
}

/** The same build under Next's own server; an empty array in a smoke run, since it starts slowly. */
export function nextStart(bench: Bench, prepare: Prepare): Candidate[] {
  if (isSmoke) return [];
  const args = ["node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1"];
  return [node(bench, NAMES.next, args, prepare, () => bench.env, "/api/health")];
}

/** A peer of bench/peers. `env` is called when it starts, after the candidates before it have been prepared. */
export function peer(bench: Bench, name: string, file: string, prepare: Prepare, env: () => Env): Candidate {
  const loader = file.endsWith(".ts") ? ["--import", "tsx"] : [];
  return node(bench, name, [...loader, path.join(PEERS, file)], prepare, env, "/ready");
}

/**
 * Parse Server with its own database on the same PostgreSQL; an empty array in a smoke run, since it starts slowly. Its
 * name says whether it uses native bcrypt, where that matters.
 */
export function parsePeer(bench: Bench, prepare: Prepare, name: string = NAMES.parseNative): Candidate[] {
  if (isSmoke) return [];
  const env = { PARSE_DATABASE_URL: bench.parseDatabaseUrl, PARSE_BCRYPT: name === NAMES.parseJs ? "js" : "native" };
  return [node(bench, name, [path.join(PEERS, "parse-server.mjs")], prepare, () => env, "/parse/health")];
}

/** nginx with one worker that serves the catalog's folder; an empty array if nginx is not installed. */
export function nginx(bench: Bench, prepare: Prepare): Candidate[] {
  const command = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"].find((file) => existsSync(file));
  if (!command) return [];
  const args = (port: number) => ["-c", nginxConfig(bench, port)];
  const launch = { name: NAMES.nginx, command, args, env: {}, ready: "/catalog.json" };
  return [{ name: NAMES.nginx, start: () => startServer(launch, bench.folder), prepare }];
}

function node(bench: Bench, name: string, args: string[], prepare: Prepare, env: () => Env, ready: string): Candidate {
  const launch = (): Launch => ({ name, command: process.execPath, args: () => args, env: env(), ready });
  return { name, start: () => startServer(launch(), bench.folder), prepare };
}

function nginxConfig({ folder, file }: Bench, port: number): string {
  const config = path.join(folder, "nginx.conf");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const lines = [
    ...[process.getuid?.() === 0 ? "user root;" : "", "worker_processes 1;", "daemon off;"],
    ...[`pid ${folder}/nginx.pid;`, "error_log stderr;", "events {}"],
    ...["http {", "access_log off;", "sendfile on;", "default_type application/octet-stream;", ...temporary],
    `server { listen 127.0.0.1:${port}; root ${path.dirname(file)}; }`,
    "}",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  return config;
}
