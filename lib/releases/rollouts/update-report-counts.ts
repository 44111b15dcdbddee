import type { Logger } from "pino";
import type { PrismaClient } from "../../platform/db/generated/client";

/** The row that counts equal reports of a day. */
type ReportKey = {
  day: string;
  product: string;
  platform: string;
  architecture: string;
  version: string;
  outcome: "installed" | "failed" | "rolled_back";
  from: string;
  code: string;
};

/** Counts reports of clients in memory, so that a flood of them costs one statement a minute. */
export type UpdateReports = {
  record: (report: Omit<ReportKey, "day">) => void;
  /** Stores what was counted. What cannot be stored stays in memory. @throws the database's error */
  flush: () => Promise<void>;
  /** Stores what was counted, if the database is available. */
  close: () => Promise<void>;
};

type Deps = { db: PrismaClient; log: Pick<Logger, "warn">; now: () => Date };

/** Different reports between two flushes. Beyond it, `from` and `code` are counted as "other". */
const MAX_KEYS = 1_000;
/** All of them, with those of days without a database. Beyond it, reports are not counted. */
const MAX_KEYS_IN_MEMORY = 10_000;

export function createUpdateReports({ db, log, now }: Deps): UpdateReports {
  let counts = new Map<string, { key: ReportKey; reports: number }>();
  const add = (key: ReportKey, reports: number) => {
    const name = Object.values(key).join(" ");
    const known = counts.get(name);
    if (known) known.reports += reports;
    else if (counts.size < MAX_KEYS_IN_MEMORY) counts.set(name, { key, reports });
  };
  const flush = async () => {
    const taken = [...counts.values()];
    if (taken.length === 0) return;
    counts = new Map();
    try {
      await storeReports(db, taken);
    } catch (error) {
      for (const { key, reports } of taken) add(key, reports);
      throw error;
    }
  };
  return {
    record: ({ product, platform, architecture, version, outcome, from, code }) => {
      const key = { day: now().toISOString().slice(0, 10), product, platform, architecture, version, outcome };
      const isFull = counts.size >= MAX_KEYS;
      add({ ...key, from: isFull ? "other" : from, code: isFull ? "other" : code }, 1);
    },
    flush,
    close: () => flush().catch((error) => log.warn({ err: error }, "the last update reports could not be stored")),
  };
}

/** One statement. The rows are locked in the order of their keys, so that processes do not deadlock. */
async function storeReports(db: PrismaClient, taken: readonly { key: ReportKey; reports: number }[]): Promise<void> {
  const nameOf = ({ key }: { key: ReportKey }) => Object.values(key).join(" ");
  const sorted = taken.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const column = (name: keyof ReportKey) => sorted.map(({ key }) => key[name]);
  await db.$executeRaw`
    INSERT INTO "UpdateReportCount" AS stored
      ("day", "product", "platform", "architecture", "version", "outcome", "from", "code", "reports")
    SELECT "day"::date, "product", "platform", "architecture", "version", "outcome", "from", "code", "reports"
    FROM unnest(${column("day")}::text[], ${column("product")}::text[], ${column("platform")}::text[],
      ${column("architecture")}::text[], ${column("version")}::text[], ${column("outcome")}::text[],
      ${column("from")}::text[], ${column("code")}::text[], ${sorted.map(({ reports }) => reports)}::int[])
      AS added ("day", "product", "platform", "architecture", "version", "outcome", "from", "code", "reports")
    ON CONFLICT ("day", "product", "platform", "architecture", "version", "outcome", "from", "code")
    DO UPDATE SET "reports" = stored."reports" + EXCLUDED."reports"`;
}
