import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { runCommandLine, UsageError } from "../scripts/command-line";
import { type Benches, openBenches } from "./lib/bench";
import { isSmoke, PAIRS, RECORDS } from "./lib/scale";
import type { Section } from "./lib/table";
import { hasWrk } from "./lib/wrk";
import { type About, describeRun } from "./report/about";
import { DEFAULT_NAMES, WORKLOAD_NAMES, type WorkloadName } from "./report/groups";
import { markdown } from "./report/markdown";
import { publish } from "./report/publish";
import { type Published, readPublished } from "./report/published";
import { WORKLOADS } from "./workloads";

const HELP = `Usage: npm run bench [-- WORKLOAD... --write --max-rows ROWS --records RECORDS --pairs PAIRS]
       npm run bench -- --smoke

Compares Homeport with its peers on this machine and prints a table. Runs all workloads by default, except growth:
${WORKLOAD_NAMES.join(", ")}.

  --write  writes the figures to bench/published.json, docs/performance.md and README.md
  --max-rows ROWS
           the largest table of growth; 10,000,000 by default, which takes 15 minutes and 25 GB of disk
  --records RECORDS
           the records of import, for each database; 200,000 by default, which takes 4 minutes
  --pairs PAIRS
           the pairs of requests to each endpoint of account-enumeration; 2,000 by default, which takes 20 minutes
  --smoke  runs each workload for a moment without Parse Server and next start, four at a time, and compares the
           targets with those in docs/performance.md. The figures mean nothing`;

/** How many workloads of a smoke run take place at a time. */
const SMOKE_CONCURRENCY = 4;

/** The sections by workload. A workload that failed has a message instead. */
type Outcome = { sections: Record<string, Section>; failures: string[] };

async function main(args: string[]): Promise<void> {
  const numbers = { "max-rows": { type: "string" }, records: { type: "string" }, pairs: { type: "string" } } as const;
  const options = { write: { type: "boolean" }, smoke: { type: "boolean" }, ...numbers } as const;
  const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
  const defaults = values.smoke ? WORKLOAD_NAMES : DEFAULT_NAMES;
  const names = positionals.length > 0 ? positionals.map(toName) : defaults;
  if (values.smoke && values.write) throw new UsageError("The figures of a smoke run mean nothing.");
  if (!(Number(values["max-rows"] ?? 10_000) >= 10_000)) throw new UsageError("--max-rows must be at least 10000.");
  if (!(RECORDS >= 1_000 && PAIRS >= 1)) throw new UsageError("--records must be at least 1000, and --pairs 1.");
  if (!hasWrk()) throw new Error("wrk is missing: apt-get install wrk");
  const benches = await openBenches();
  const close = onceOnly(benches.close);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void close().then(() => process.exit(1)));
  try {
    const { about, outcome } = await runAll(names, benches);
    report(about, outcome, values.write ?? false);
  } finally {
    await close();
  }
}

function toName(name: string): WorkloadName {
  if (!isName(name)) throw new UsageError(`Unknown workload: ${name}`);
  return name;
}

const isName = (name: string): name is WorkloadName => Object.hasOwn(WORKLOADS, name);

async function runAll(names: readonly WorkloadName[], benches: Benches): Promise<{ about: About; outcome: Outcome }> {
  const outcome: Outcome = { sections: {}, failures: [] };
  const left = isSmoke ? names.toReversed() : [...names]; // operations, which takes longest, is near the end
  const runLeft = async () => {
    for (let name = left.shift(); name; name = left.shift()) {
      const startedAt = performance.now();
      const error = await runOne(name, benches, outcome).catch((error: Error) => error);
      if (error) outcome.failures.push(`${name} failed: ${error.message}`);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
      console.error(`${++done} of ${names.length}: ${name} ${error ? "FAILED" : "done"} in ${seconds} s`);
    }
  };
  let done = 0;
  await Promise.all(Array.from({ length: isSmoke ? SMOKE_CONCURRENCY : 1 }, runLeft));
  const bench = await benches.openWorkload("about");
  const about = await describeRun(bench).finally(bench.close);
  return { about, outcome };
}

async function runOne(name: WorkloadName, benches: Benches, { sections, failures }: Outcome): Promise<void> {
  const bench = await benches.openWorkload(name);
  try {
    const section = await WORKLOADS[name](bench);
    failures.push(...(section.failures ?? []));
    sections[name] = { ...section, notes: [...(section.notes ?? []), ...otherWork(section)] };
  } finally {
    await bench.close();
  }
}

/** Reports other work on the machine that kept half a core busy. Candidates that use several cores suffer most from it. */
function otherWork({ results = [] }: Section): string[] {
  const busiest = Math.max(0, ...results.flatMap(({ rounds }) => rounds.map(({ otherCores }) => otherCores)));
  if (busiest < 0.5 || isSmoke) return [];
  return [`other work kept up to ${busiest.toFixed(1)} of ${cpus().length} cores busy between the rounds`];
}

/** Prints the table, writes the JSON, and with `isPublic` the docs. A failure sets the exit code. */
function report(about: About, { sections, failures }: Outcome, isPublic: boolean): void {
  const problems = [...failures, ...(isSmoke ? changedTargets(sections, readPublished()) : [])];
  console.log(`\n${Object.values(about).join(" · ")}\n\n${markdown(Object.values(sections))}\n`);
  if (!isSmoke) console.log(`Wrote ${writeResults(about, sections)}`);
  if (isPublic) console.log(`Wrote ${publish(sections, about).join(", ")}`);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

/** Lists the targets of workloads that differ from the published ones. Rows that were left out are not compared. */
function changedTargets(sections: Record<string, Section>, published: Published): string[] {
  return Object.entries(sections).flatMap(([name, { rows }]) => {
    const shown = published[name]?.rows ?? [];
    return rows.flatMap(({ candidate, goal }) => {
      const row = shown.find((other) => other.candidate === candidate);
      if (!row || row.goal?.target === goal?.target) return [];
      return [`${name}, ${candidate}: the workload declares ${goal?.target}, docs/performance.md ${row.goal?.target}`];
    });
  });
}

function writeResults(about: About, sections: Record<string, Section>): string {
  const folder = path.join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${about.at.replaceAll(":", "-")}.json`);
  writeFileSync(file, `${JSON.stringify({ about, sections }, null, 2)}\n`);
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
