import { Cron } from "croner";
import type { Context } from "../../context";
import { newId } from "../db/ids";
import { createBackup, isBackingUp } from "./create-backup";
import { expiredNames } from "./names";
import { openStore } from "./store";

type Deps = Pick<Context, "config" | "database" | "db" | "log" | "now">;

/** After a failure, and after a process that was killed. */
const RETRY_MS = 15 * 60 * 1000;
const MAX_DURATION_MS = 6 * 60 * 60 * 1000;
/**
 * How many of the schedule's last times are read: the most recent one, which is due, and the one before it. See
 * `readBackupState`.
 */
const PREVIOUS_TIMES = 2;

/**
 * Makes the backup that is due by BACKUP_SCHEDULE, unless another process makes it, and removes those that BACKUP_KEEP does
 * not keep. Of the backups that were missed, only the most recent is made up for. A failed one is repeated after 15
 * minutes.
 */
export async function runScheduledBackup(deps: Deps): Promise<void> {
  const { config, db, log, now } = deps;
  const { BACKUP_SCHEDULE: schedule, BACKUP_TO: to } = config;
  if (schedule === undefined || to === undefined || isBackingUp(deps)) return; // the next call makes it
  const scheduledFor = lastTimes(schedule, now())[0];
  const id = scheduledFor && (await claim({ db, now }, scheduledFor));
  if (!id) return;
  await createBackup(deps, to, { id });
  const store = openStore(config, to);
  const expired = expiredNames(await store.list(), config.BACKUP_KEEP);
  for (const name of expired) await store.remove(name);
  if (expired.length > 0) log.info({ removed: expired }, "removed old backups");
}

/** Inserts the backup's row, or takes over one that failed. Returns its id; null if there is nothing to do. */
async function claim({ db, now }: Pick<Deps, "db" | "now">, scheduledFor: Date): Promise<string | null> {
  const at = now();
  const [failedBefore, killedBefore] = [RETRY_MS, MAX_DURATION_MS].map((ms) => new Date(at.getTime() - ms));
  const rows = await db.$queryRaw<{ id: string }[]>`
    INSERT INTO "Backup" ("id", "scheduledFor", "startedAt") VALUES (${newId(at)}::uuid, ${scheduledFor}, ${at})
    ON CONFLICT ("scheduledFor") DO UPDATE SET "startedAt" = ${at}, "endedAt" = NULL, "error" = NULL
      WHERE ("Backup"."error" IS NOT NULL AND "Backup"."endedAt" < ${failedBefore})
        OR ("Backup"."endedAt" IS NULL AND "Backup"."startedAt" < ${killedBefore})
    RETURNING "id"`;
  return rows[0]?.id ?? null;
}

/** The last times of a schedule, the latest first. */
function lastTimes(schedule: string, now: Date): Date[] {
  return new Cron(schedule, { mode: "5-part", timezone: "UTC", paused: true }).previousRuns(PREVIOUS_TIMES, now);
}

export type BackupState = { lastSuccessAt: Date | null; isLate: boolean };

/** The last successful backup, and whether one is late: none has succeeded since the schedule's second-to-last time. */
export async function readBackupState({ config, db, now }: Pick<Deps, "config" | "db" | "now">): Promise<BackupState> {
  const last = await db.backup.findFirst({
    where: { endedAt: { not: null }, error: null },
    orderBy: { endedAt: "desc" },
    select: { endedAt: true },
  });
  const lastSuccessAt = last?.endedAt ?? null;
  const expectedAt =
    config.BACKUP_SCHEDULE === undefined ? undefined : lastTimes(config.BACKUP_SCHEDULE, now())[PREVIOUS_TIMES - 1];
  return { lastSuccessAt, isLate: expectedAt !== undefined && (lastSuccessAt === null || lastSuccessAt < expectedAt) };
}
