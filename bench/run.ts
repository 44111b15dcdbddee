import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import path from "node:path";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { type Bench, openBench } from "./lib/bench";
import { markdown, type Section } from "./lib/table";
import { hasWrk } from "./lib/wrk";
import { accountEnumeration } from "./workloads/accounts/account-enumeration";
import { healthDuringLogins } from "./workloads/accounts/health-during-logins";
import { login } from "./workloads/accounts/login";
import { register } from "./workloads/accounts/register";
import { fold } from "./workloads/billing/fold";
import { subscriptionStatus } from "./workloads/billing/subscription-status";
import { webhook } from "./workloads/billing/webhook";
import { webhookEmbedded } from "./workloads/billing/webhook-embedded";
import { attestation } from "./workloads/push/attestation";
import { pushDelivery } from "./workloads/push/push-delivery";
import { pushRefresh, pushRegister } from "./workloads/push/push-register";
import { download } from "./workloads/releases/download";
import { selection } from "./workloads/releases/selection";
import { version, versionNotModified, versionNotModifiedRatio } from "./workloads/releases/version";
import { health } from "./workloads/server/health";
import { healthDuringPageLoad } from "./workloads/server/health-during-page-load";
import { start } from "./workloads/server/start";

const WORKLOADS: Record<string, (bench: Bench) => Promise<Section>> = {
  health,
  version,
  "version-not-modified": versionNotModified,
  "version-not-modified-ratio": versionNotModifiedRatio,
  selection,
  download,
  login,
  "health-during-logins": healthDuringLogins,
  "health-during-page-load": healthDuringPageLoad,
  register,
  "push-register": pushRegister,
  "push-refresh": pushRefresh,
  attestation,
  "push-delivery": pushDelivery,
  "subscription-status": subscriptionStatus,
  webhook,
  "webhook-embedded": webhookEmbedded,
  "account-enumeration": accountEnumeration,
  fold,
  start,
};

const HELP = `Usage: npm run bench [-- WORKLOAD...]

Compares Homeport with its peers on this machine and prints a table of ratios. Runs all workloads by default:
${Object.keys(WORKLOADS).join(", ")}.`;

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
  const about = describeRun();
  console.log(`\n${Object.values(about).join(" · ")}\n\n${markdown(sections)}\n`);
  console.log(`${write({ about, sections })}`);
}

/** Runs one workload. A failure is reported in its section, and the other workloads still run. */
async function runOne(name: string, bench: Bench): Promise<Section> {
  const run = WORKLOADS[name];
  const section: Section = (await run?.(bench).catch((error: Error) => {
    process.exitCode = 1;
    return { title: name, rows: [], notes: [`failed: ${error.message}`] };
  })) ?? { title: name, rows: [] };
  console.error(`${name}: done`);
  return { ...section, notes: [...(section.notes ?? []), ...otherWork(section)] };
}

/** Reports other work on the machine between the rounds. Candidates that use several cores suffer most from it. */
function otherWork({ results = [] }: Section): string[] {
  const cores = results.flatMap(({ rounds }) => rounds.map(({ otherCores: othersCores }) => othersCores));
  if (cores.length === 0) return [];
  const [min, max] = [Math.min(...cores).toFixed(1), Math.max(...cores).toFixed(1)];
  return [`other work kept ${min} to ${max} of ${cpus().length} cores busy between the rounds`];
}

function describeRun(): Record<string, string> {
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
