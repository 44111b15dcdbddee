import { setTimeout as delay } from "node:timers/promises";
import type { Registry } from "prom-client";
import type { Context } from "../../context";
import { readDatabaseTime } from "../db/clock";
import type { Prisma } from "../db/generated/client";
import { firstIdAt } from "../db/ids";
import { identifier, join, sql } from "../db/sql";

type Deps = Pick<Context, "db" | "dbNow" | "now">;
type Values<Name extends string = string> = Record<Name, number>;

/** Gauges that are read together: their help texts and values by name. They have no value if `read` returns none. */
type GaugeGroup = { help: Record<string, string>; read: (deps: Deps) => Promise<Values | undefined> };

const HOUR_MS = 60 * 60 * 1000;
const TIMEOUT_MS = 1_000;
/** The maximum number of rows that a gauge counts, which bounds the cost of a scrape. */
const MAX_COUNTED_ROWS = 100_000;
const AT_MOST = `at most ${MAX_COUNTED_ROWS}`;

/**
 * Creates gauges whose values come from the database, and returns the function that updates them. The gauges have no value
 * if `read` fails or times out.
 */
export function createDatabaseGauges(
  prom: typeof import("prom-client"),
  registry: Registry,
  { help, read }: GaugeGroup,
  deps: Deps,
): () => Promise<void> {
  const gauges = Object.entries(help).map(([name, text]) => {
    return [name, new prom.Gauge({ name, help: text, registers: [registry] })] as const;
  });
  let reading: Promise<Values | undefined> | undefined;
  return async () => {
    // One query at a time: during a slow query, the next scrape waits for it instead of starting another.
    reading ??= read(deps)
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    const values = await Promise.race([reading, delay(TIMEOUT_MS, undefined, { ref: false })]);
    for (const [name, gauge] of gauges) {
      gauge.remove();
      if (values?.[name] !== undefined) gauge.set(values[name]);
    }
  };
}

const countRows = (select: Prisma.Sql): Prisma.Sql =>
  sql`(SELECT count(*)::int FROM (${select} LIMIT ${MAX_COUNTED_ROWS}) AS counted)`;

/** The seconds since the earliest of the times that a query returns; 0 if there is none, or it is in the future. */
const ageOf = (now: Prisma.Sql, earliest: Prisma.Sql): Prisma.Sql =>
  sql`greatest(coalesce(extract(epoch FROM ${now} - (${earliest})), 0), 0)::float8`;

async function readRow<Name extends string>({ db }: Deps, columns: Record<Name, Prisma.Sql>): Promise<Values<Name>> {
  const selected = Object.entries<Prisma.Sql>(columns).map(([name, query]) => sql`${query} AS ${identifier(name)}`);
  const [row] = await db.$queryRaw<Values<Name>[]>`SELECT ${join(selected)}`;
  return row as Values<Name>;
}

export const accountGauges: GaugeGroup = {
  help: { homeport_accounts_created_last_hour: `Accounts created in the last hour, ${AT_MOST}.` },
  read: async ({ db, now }) => {
    const since = firstIdAt(new Date(now().getTime() - HOUR_MS)); // ids sort by time
    const count = await db.account.count({ where: { id: { gte: since } }, take: MAX_COUNTED_ROWS });
    return { homeport_accounts_created_last_hour: count };
  },
};

export const backupGauges: GaugeGroup = {
  help: {
    homeport_backup_last_success_timestamp_seconds: "When the last successful backup ended. No value: there is none.",
  },
  read: async ({ db }) => {
    const { _max: last } = await db.backup.aggregate({ where: { error: null }, _max: { endedAt: true } });
    return last.endedAt ? { homeport_backup_last_success_timestamp_seconds: last.endedAt.getTime() / 1000 } : undefined;
  },
};

export const billingGauges: GaugeGroup = {
  help: {
    homeport_billing_events_pending: `Billing events that are stored but not applied yet, ${AT_MOST}.`,
    homeport_billing_events_pending_oldest_age_seconds: "Time since the oldest pending billing event was received.",
    homeport_billing_events_failed: `Billing events that could not be applied, ${AT_MOST}.`,
    homeport_billing_events_failed_oldest_age_seconds: "Time since the oldest failed billing event was received.",
    homeport_billing_renewals_due: `Subscriptions that renew within the hour, ${AT_MOST}.`,
    homeport_billing_renewals_overdue: `Subscriptions that were due to renew an hour to a day ago and for which no event has arrived, ${AT_MOST}.`,
    homeport_billing_reconciles_due: `Customers and purchases that are due to be reconciled with their provider, ${AT_MOST}.`,
    homeport_billing_reconciles_due_oldest_age_seconds: "Time since the oldest due reconcile became due.",
    homeport_billing_apis_paused:
      "Billing providers whose API limits requests: none are sent for the time it asked for.",
    homeport_billing_sweep_oldest_age_seconds:
      "Time since a provider's events were last read to the end, of the provider whose are the oldest.",
  },
  read: (deps) => {
    const now = deps.dbNow();
    const pending = sql`"BillingEvent" WHERE state = 'received'`;
    const failed = sql`"BillingEvent" WHERE state = 'failed'`;
    return readRow(deps, {
      homeport_billing_events_pending: countRows(sql`SELECT 1 FROM ${pending}`),
      homeport_billing_events_pending_oldest_age_seconds: ageOf(now, sql`SELECT min("receivedAt") FROM ${pending}`),
      homeport_billing_events_failed: countRows(sql`SELECT 1 FROM ${failed}`),
      homeport_billing_events_failed_oldest_age_seconds: ageOf(now, sql`SELECT min("receivedAt") FROM ${failed}`),
      homeport_billing_renewals_due: countRenewals(now, sql`${now} + interval '1 hour'`),
      homeport_billing_renewals_overdue: countRenewals(sql`${now} - interval '1 day'`, sql`${now} - interval '1 hour'`),
      homeport_billing_reconciles_due: countRows(
        sql`SELECT 1 FROM "BillingReconcileJob" WHERE "nextAttemptAt" <= ${now}`,
      ),
      homeport_billing_reconciles_due_oldest_age_seconds: ageOf(
        now,
        sql`SELECT min("nextAttemptAt") FROM "BillingReconcileJob"`,
      ),
      homeport_billing_apis_paused: countRows(sql`SELECT 1 FROM "BillingApiPause" WHERE until > ${now}`),
      homeport_billing_sweep_oldest_age_seconds: ageOf(
        now,
        sql`SELECT min(COALESCE("readUntil", "untilTime")) FROM "BillingSweep"`,
      ),
    });
  },
};

/** Counts the purchases whose renewal is due after `from`, until `to`: subscriptions of an account that should renew. */
const countRenewals = (from: Prisma.Sql, to: Prisma.Sql): Prisma.Sql =>
  countRows(sql`
    SELECT 1 FROM "Purchase"
    WHERE "currentPeriodEndsAt" > ${from} AND "currentPeriodEndsAt" <= ${to}
      AND "endedAt" IS NULL AND "unsubscribedAt" IS NULL AND NOT "isLifetime" AND environment = 'PRODUCTION'
      AND "accountId" IS NOT NULL AND "periodType" NOT IN ('PREPAID', 'PROMOTIONAL') AND store <> 'PROMOTIONAL'
      AND "billingIssueDetectedAt" IS NULL AND "pausedAt" IS NULL`);

export const mailGauges: GaugeGroup = {
  help: {
    homeport_mail_queue_depth: `Emails that are not sent yet, ${AT_MOST}.`,
    homeport_mail_queue_oldest_age_seconds: "Time since the oldest email that is not sent was queued.",
  },
  read: async (deps) => {
    const { queuedEmail } = deps.db;
    const oldest = await queuedEmail.findFirst({ orderBy: { id: "asc" }, select: { createdAt: true } }); // ids sort by time
    const now = await readDatabaseTime(deps, oldest?.createdAt);
    return {
      homeport_mail_queue_depth: await queuedEmail.count({ take: MAX_COUNTED_ROWS }),
      homeport_mail_queue_oldest_age_seconds: oldest ? (now.getTime() - oldest.createdAt.getTime()) / 1000 : 0,
    };
  },
};

/** The largest `QueuePriority` of lib/push/notifications.ts. */
const MAX_QUEUE_PRIORITY = 2;

export const mirrorGauges: GaugeGroup = {
  help: {
    homeport_release_mirror_current_timestamp_seconds:
      "When the mirror of releases last was as the catalog. No value: never, or there is none.",
    homeport_release_mirror_pending_files: "Files that are still to be copied to the mirror of releases.",
    homeport_release_mirror_failing: "1 if the last attempt to write the mirror of releases failed.",
  },
  read: async ({ db }) => {
    const row = await db.releaseMirror.findFirst({ orderBy: { leaseUntil: "desc" } });
    if (!row) return undefined;
    return {
      ...(row.currentAt && { homeport_release_mirror_current_timestamp_seconds: row.currentAt.getTime() / 1000 }),
      homeport_release_mirror_pending_files: row.pendingFiles,
      homeport_release_mirror_failing: row.error === null ? 0 : 1,
    };
  },
};

export const pushGauges: GaugeGroup = {
  help: {
    homeport_push_outbox_depth: `Queued notifications of all instances, ${AT_MOST}.`,
    homeport_push_outbox_oldest_age_seconds: "Time since the oldest queued notification became due.",
  },
  read: (deps) =>
    readRow(deps, {
      homeport_push_outbox_depth: countRows(sql`SELECT 1 FROM "QueuedPush" WHERE "leaseUntil" IS NULL`),
      homeport_push_outbox_oldest_age_seconds: ageOf(
        deps.dbNow(),
        sql`SELECT min(oldest."at")
          FROM generate_series(0, ${MAX_QUEUE_PRIORITY}) AS class("priority") CROSS JOIN LATERAL (
            SELECT "nextAttemptAt" AS "at" FROM "QueuedPush"
            WHERE "leaseUntil" IS NULL AND "queuePriority" = class."priority" ORDER BY "nextAttemptAt" LIMIT 1
          ) AS oldest`,
      ),
    }),
};
