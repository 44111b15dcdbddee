import { rmSync, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AUTHORIZATION, type DatabaseMachine, HaCluster, URL, until } from "./cluster";
import { Load } from "./load";
import { diskOf, setLink } from "./machines";

const MAX_SECONDS_WITHOUT_WRITES = 35;
const SETTLE_MS = 5_000;
const DISK_FULL_MS = 15_000;

type Fault = { name: string; inject: () => Promise<void>; repair?: () => Promise<void> };
export type FaultOutcome = {
  name: string;
  acknowledged: number;
  lost: number;
  secondsWithoutWrites: number;
  reads: number;
  failedReads: string[];
};

/** Injects each fault under load, repairs it, and compares the acknowledged writes with the database. */
export async function runDrill(report: (line: string) => void): Promise<FaultOutcome[]> {
  report("starting etcd, Patroni, HAProxy, PgBouncer and two instances");
  const cluster = await HaCluster.start();
  const load = new Load(URL, AUTHORIZATION);
  await until("writes", () => load.hasWritesSince(Date.now() - 2_000));
  const outcomes: FaultOutcome[] = [];
  for (const fault of faultsOf(cluster)) {
    report(fault.name);
    outcomes.push(await runFault(cluster, load, fault));
  }
  await load.stop();
  return outcomes;
}

async function runFault(cluster: HaCluster, load: Load, { name, inject, repair }: Fault): Promise<FaultOutcome> {
  const before = countAcknowledged(load);
  load.reset();
  await inject();
  const injectedAtMs = Date.now();
  // Long enough to see that writes resume late, too.
  await until("writes", () => load.hasWritesSince(injectedAtMs), 90_000).catch(() => {});
  await repair?.();
  await cluster.healthyDatabase();
  for (const machine of ["app1", "app2"] as const) await cluster.healthy(machine);
  await delay(SETTLE_MS);
  const { gapMs, reads, failedReads } = load.summary();
  const secondsWithoutWrites = Math.round(gapMs / 100) / 10;
  const acknowledged = countAcknowledged(load) - before;
  return { name, acknowledged, lost: await countLost(cluster, load), secondsWithoutWrites, reads, failedReads };
}

const countAcknowledged = ({ acknowledged }: Load) =>
  Object.values(acknowledged).reduce((sum, { size }) => sum + size, 0);

/** How many acknowledged writes are not in the database. */
async function countLost(cluster: HaCluster, { acknowledged }: Load): Promise<number> {
  const counted = [
    ['SELECT count(*)::int AS found FROM "BillingEvent" WHERE "eventId" = ANY($1::text[])', acknowledged.events],
    ['SELECT count(*)::int AS found FROM "Account" WHERE "email" = ANY($1::text[])', acknowledged.emails],
    ['SELECT count(*)::int AS found FROM "Session" WHERE "id" = ANY($1::uuid[])', acknowledged.sessions],
  ] as const;
  let lost = 0;
  for (const [sql, ids] of counted) {
    const given = [...ids];
    const [row] = await cluster.query(sql, [given]);
    lost += given.length - Number(row?.found);
  }
  return lost;
}

function faultsOf(cluster: HaCluster): Fault[] {
  const restart = async (program: string) => {
    for (const name of ["app1", "app2"] as const) {
      await cluster.program(name, program).stop();
      cluster.program(name, program).start();
      await cluster.healthy(name);
    }
  };
  let affected: DatabaseMachine = "db1";
  const atPrimary = (inject: (name: typeof affected) => void | Promise<void>) => async () => {
    affected = await cluster.primary();
    await inject(affected);
  };
  return [
    {
      name: "primary lost: kill -9 of everything on its machine",
      inject: atPrimary((name) => cluster.cutPower(name)),
      repair: async () => cluster.boot(affected),
    },
    {
      name: "partition: the primary's machine is off the network",
      inject: atPrimary((name) => void setLink(name, "down")),
      repair: async () => void setLink(affected, "up"),
    },
    { name: "both instances restarted, one after the other", inject: () => restart("homeport") },
    { name: "PgBouncer restarted, one after the other", inject: () => restart("pgbouncer") },
    {
      name: `disk full on the primary for ${DISK_FULL_MS / 1000} s`,
      inject: atPrimary(async (name) => {
        const ballast = path.join(diskOf(name), "ballast");
        await fill(ballast);
        await delay(DISK_FULL_MS);
        rmSync(ballast);
      }),
    },
  ];
}

/** Writes a file that takes all free space. */
async function fill(file: string): Promise<void> {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  const handle = await open(file, "w");
  const block = Buffer.alloc(bsize);
  try {
    const mega = Buffer.alloc(2 ** 20);
    for (let left = bavail * bsize; left > mega.length; left -= mega.length) await handle.write(mega);
    for (;;) await handle.write(block);
  } catch {
    // ENOSPC
  } finally {
    await handle.close();
  }
}

export function tableOf(outcomes: readonly FaultOutcome[]): string {
  const rows = outcomes.map(
    ({ name, acknowledged, lost, secondsWithoutWrites, reads, failedReads }) =>
      `| ${name} | ${lost} of ${acknowledged} | ${secondsWithoutWrites} | ${failedReads.length} of ${reads} |`,
  );
  return [
    "| fault | lost writes | seconds without writes | failed reads |",
    "| --- | ---: | ---: | ---: |",
    ...rows,
  ].join("\n");
}

export const isPassed = ({ lost, secondsWithoutWrites, failedReads }: FaultOutcome): boolean =>
  lost === 0 && secondsWithoutWrites <= MAX_SECONDS_WITHOUT_WRITES && failedReads.length === 0;
