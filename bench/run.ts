import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import path from "node:path";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { type Bench, openBench } from "./lib/bench";
import { markdown, type Section } from "./lib/table";
import { hasWrk } from "./lib/wrk";
import { attestation } from "./workloads/attestation";
import { download } from "./workloads/download";
import { fold } from "./workloads/fold";
import { health } from "./workloads/health";
import { knownOrUnknown } from "./workloads/known-or-unknown";
import { login } from "./workloads/login";
import { pages } from "./workloads/pages";
import { push } from "./workloads/push";
import { pushRefresh, pushRegister } from "./workloads/push-register";
import { register } from "./workloads/register";
import { selection } from "./workloads/selection";
import { start } from "./workloads/start";
import { storm } from "./workloads/storm";
import { subscriptionStatus } from "./workloads/subscription-status";
import { version, versionKnownOrNot, versionUnchanged } from "./workloads/version";
import { webhook } from "./workloads/webhook";
import { webhookEmbedded } from "./workloads/webhook-embedded";

const WORKLOADS: Record<string, (bench: Bench) => Promise<Section>> = {
  health,
  version,
  "version-unchanged": versionUnchanged,
  "version-known-or-not": versionKnownOrNot,
  selection,
  download,
  login,
  storm,
  pages,
  register,
  "push-register": pushRegister,
  "push-refresh": pushRefresh,
  attestation,
  push,
  "subscription-status": subscriptionStatus,
  webhook,
  "webhook-embedded": webhookEmbedded,
  "known-or-unknown": knownOrUnknown,
  fold,
  start,
};

const HELP = `Usage: npm run bench [-- WORKLOAD...]

Measures the service against its peers on this machine, and prints a table of ratios. Runs all workloads unless some are
named: ${Object.keys(WORKLOADS).join(", ")}.`;

async function main(args: string[]): Promise<void> {
  const names = args.length > 0 ? args : Object.keys(WORKLOADS);
  const unknown = names.filter((name) => !Object.hasOwn(WORKLOADS, name));
  if (unknown.length > 0) throw new UsageError(`Unknown workload: ${unknown.join(", ")}`);
  if (!hasWrk()) throw new Error("wrk is missing: apt-get install wrk");
  const bench = await openBench();
  const close = onceOnly(bench.close);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void close().then(() => process.exit(1)));
  const sections: Section[] = [];
  try {
    for (const name of names) sections.push(await runOne(name, bench));
  } finally {
    await close();
  }
  const about = aboutThisRun();
  console.log(`\n${Object.values(about).join(" · ")}\n\n${markdown(sections)}\n`);
  console.log(`${write({ about, sections })}`);
}

/** A workload that cannot run does not keep the others from theirs. */
async function runOne(name: string, bench: Bench): Promise<Section> {
  const run = WORKLOADS[name];
  const section: Section = (await run?.(bench).catch((error: Error) => {
    process.exitCode = 1;
    return { title: name, rows: [], notes: [`did not run: ${error.message}`] };
  })) ?? { title: name, rows: [] };
  console.error(`${name}: done`);
  return { ...section, notes: [...(section.notes ?? []), ...disturbance(section)] };
}

/** What else the machine did between the rounds: contenders that use several cores suffer most from it. */
function disturbance({ results = [] }: Section): string[] {
  const cores = results.flatMap(({ rounds }) => rounds.map(({ othersCores }) => othersCores));
  if (cores.length === 0) return [];
  const [least, most] = [Math.min(...cores).toFixed(1), Math.max(...cores).toFixed(1)];
  return [`between its rounds other work kept ${least} to ${most} of ${cpus().length} cores busy`];
}

function aboutThisRun(): Record<string, string> {
  const commit = execFileSync("git", ["describe", "--always", "--dirty"]).toString().trim();
  const versions = ["express", "fastify", "parse-server"].map(
    (name) => `${name} ${versionOf(`bench/node_modules/${name}`)}`,
  );
  const [cpu] = cpus();
  return {
    at: new Date().toISOString(),
    commit: `commit ${commit}`,
    machine: `${cpus().length} cores of ${cpu?.model.trim()}`,
    node: `Node ${process.version}`,
    peers: [`next ${versionOf("node_modules/next")}`, ...versions].join(", "),
  };
}

const versionOf = (folder: string): string => JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).version;

function write(report: { about: Record<string, string>; sections: Section[] }): string {
  const folder = path.join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${report.about.at?.replaceAll(":", "-")}.json`);
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
  return path.relative(".", file);
}

function onceOnly(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= run();
    return running;
  };
}

runCommandLine(HELP, main);
