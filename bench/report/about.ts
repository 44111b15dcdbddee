import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import type { Bench } from "../lib/bench";

const PEERS = ["express", "fastify", "parse-server"];

/** When a run took place, of which commit, and on what. */
export type About = { at: string; commit: string; machine: string; versions: string };

/** Describes this run. */
export async function describeRun({ database }: Pick<Bench, "database">): Promise<About> {
  const commit = execFileSync("git", ["describe", "--always", "--dirty"]).toString().trim();
  const { rows } = await database.query<{ server_version: string }>("SHOW server_version");
  const [cpu] = cpus();
  const versions = [
    `Node ${process.version.slice(1)}`,
    `PostgreSQL ${rows[0]?.server_version.split(" ")[0]}`,
    `Next ${versionOf("node_modules/next")}`,
    ...PEERS.map((name) => `${name} ${versionOf(`bench/node_modules/${name}`)}`),
  ];
  return {
    at: new Date().toISOString(),
    commit,
    machine: `${cpus().length} cores of ${cpu?.model.trim()}`,
    versions: versions.join(", "),
  };
}

const versionOf = (folder: string): string => JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).version;
