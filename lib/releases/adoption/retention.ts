import type { PrismaClient } from "../../platform/db/generated/client";
import { REMOVAL_BATCH_SIZE, removeInBatches } from "../../platform/db/remove-in-batches";

const DAY_MS = 24 * 60 * 60 * 1000;
const RETENTION_DAYS = 400;

/** Removes counts of checks, downloads and reports after 400 days. Returns how many rows. */
export async function removeOldCounts({ db, now }: { db: PrismaClient; now: () => Date }): Promise<number> {
  const before = new Date(now().getTime() - RETENTION_DAYS * DAY_MS);
  const adoption = await removeInBatches(
    () => db.$executeRaw`
      DELETE FROM "AdoptionCount" WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM "AdoptionCount" WHERE "day" < ${before}::date LIMIT ${REMOVAL_BATCH_SIZE}::int))`,
  );
  const reports = await removeInBatches(
    () => db.$executeRaw`
      DELETE FROM "UpdateReportCount" WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM "UpdateReportCount" WHERE "day" < ${before}::date LIMIT ${REMOVAL_BATCH_SIZE}::int))`,
  );
  return adoption + reports;
}
