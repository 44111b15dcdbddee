import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * What the build is made from, without generated files and tools. package.json and the migrations are not part of it: they
 * are read at run time, and the copy of a migrated database has a hash of its own (lib/platform/db/embedded/template.ts).
 */
export const SOURCES = [
  "app",
  "clients/js",
  "lib",
  "prisma/schema.prisma",
  "public",
  "scripts",
  "instrumentation.ts",
  "next.config.ts",
  "proxy.ts",
  "server.ts",
  "worker.ts",
  "package-lock.json",
  "tsconfig.json",
];
const EXCLUDED =
  /^public\/docs(\.md)?$|^lib\/platform\/db\/generated$|^clients\/js\/dist$|\.generated\.ts$|\/node_modules$/;
/** Written last, so an interrupted build has none. lib/platform/config.ts reads it. */
const FILE = ".next/build.json";
const PIECE_BYTES = 64 * 1024;

/** Whether the build is complete, and made from the sources as they are. File times do not matter. */
export function isBuilt() {
  return existsSync(FILE) && JSON.parse(readFileSync(FILE, "utf8")).sources === hashSources();
}

export function writeFingerprint() {
  const builtAt = new Date(process.env.SOURCE_DATE_EPOCH * 1000).toISOString();
  const fingerprint = { commit: commit(), builtAt, sources: hashSources() };
  writeFileSync(FILE, `${JSON.stringify(fingerprint)}\n`);
}

/** Ends the process if the packages that build the service are not installed. */
export function requireBuildPackages() {
  if (existsSync("node_modules/esbuild") && existsSync("node_modules/prisma")) return;
  process.stderr.write(
    "Homeport is not built, or its sources have changed, and the packages that build it are not installed.\n" +
      "Run `npm ci --include=dev` and `npm run build`; after that `npm ci --omit=dev` removes them again.\n",
  );
  process.exit(1);
}

/** Reads through one buffer: the service, which runs in the same process, would keep the memory of whole files. */
export function hashSources() {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(PIECE_BYTES);
  for (const file of SOURCES.flatMap(filesIn)) {
    hash.update(`${file}\0`);
    const fd = openSync(file);
    for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer)) {
      hash.update(buffer.subarray(0, length));
    }
    closeSync(fd);
    hash.update("\0");
  }
  return hash.digest("hex");
}

function filesIn(file) {
  if (EXCLUDED.test(file)) return [];
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat ? [file] : [];
  return readdirSync(file)
    .sort()
    .flatMap((name) => filesIn(path.posix.join(file, name)));
}

/** The commit that is built; null outside a checkout. */
function commit() {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return null;
  }
}
