import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import type { Bench } from "../lib/bench";

/** What `--write` writes may differ from the commit: no workload reads it. */
const SOURCES = [".", ":!README.md", ":!docs", ":!bench/published.json"];
const PEERS = ["express", "fastify", "parse-server"];

/** When a run took place, of which commit, and on what. */
export type About = { at: string; commit: string; machine: string; versions: string };

export async function describeRun({ database }: Pick<Bench, "database">): Promise<About> {
  const { rows } = await database.query<{ server_version: string }>("SHOW server_version");
  const [cpu] = cpus();
  const versions = [
    `Node ${process.version.slice(1)}`,
    `PostgreSQL ${rows[0]?.server_version.split(" ")[0]}`,
    `Next ${versionOf("node_modules/next")}`,
    ...PEERS.filter(isInstalled).map((name) => `${name} ${versionOf(folderOf(name))}`),
  ];
  return {
    at: new Date().toISOString(),
    commit: describeCommit(),
    machine: `${cpus().length} cores of ${cpu?.model.trim()}`,
    versions: versions.join(", "),
  };
}

/** The commit, with "-dirty" if what runs differs from it. */
function describeCommit(): string {
  const git = (...args: string[]) => execFileSync("git", args).toString().trim();
  return git("describe", "--always") + (git("status", "--porcelain", "--", ...SOURCES) === "" ? "" : "-dirty");
}

const folderOf = (peer: string): string => `bench/node_modules/${peer}`;
/** Parse Server is optional: a smoke run takes place without it. */
const isInstalled = (peer: string): boolean => existsSync(folderOf(peer));
const versionOf = (folder: string): string => JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).version;
