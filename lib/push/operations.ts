import { randomUUID } from "node:crypto";
import type { Context } from "../context";
import type { PushDeliveryState } from "../db/generated/client";
import { SECRET_KINDS } from "./notifications";
import { enqueue, enqueueForEverybody } from "./outbox";

type Deps = Pick<Context, "db" | "now">;

/** So many rows a statement: a million at once would hold their devices for half a minute. */
const STATEMENT_MOST = 10_000;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

type Words = { accountId: string; title: string; body: string; link: string | null };

/**
 * Tells an account's devices something in one's own words. Returns how many devices.
 * @throws RangeError over 4,096 bytes of payload
 */
export function sendWords({ db, now }: Deps, { accountId, ...words }: Words): Promise<number> {
  const eventKey = `custom:${randomUUID()}`;
  return enqueue(db, now(), { eventKey, to: { accountId }, message: { kind: "custom", ...words } });
}

/**
 * Tells every device of a version, so many devices a second: what else there is to send does not wait for it, and
 * neither do all clients ask for the update at once. Whoever was told before is not told again, so it may be broken
 * off and repeated. Returns how many devices.
 */
export async function announceVersion(
  { db, now }: Deps,
  { version, perSecond }: { version: string; perSecond: number },
): Promise<number> {
  const startedAt = now();
  let told = 0;
  for (let afterDeviceId: string | null = NIL_ID; afterDeviceId !== null; ) {
    const from = new Date(startedAt.getTime() + (told / perSecond) * 1000);
    const to = { afterDeviceId, most: STATEMENT_MOST, from, perSecond };
    const message = { kind: "app.new_version", version } as const;
    const chunk = await enqueueForEverybody(db, startedAt, { eventKey: `version:${version}`, to, message });
    told += chunk.added;
    afterDeviceId = chunk.lastDeviceId;
  }
  return told;
}

/** The newest notifications, without what they say. */
export function listDeliveries(
  { db }: Pick<Deps, "db">,
  { accountId, state, most }: { accountId?: string; state?: PushDeliveryState; most: number },
) {
  return db.pushDelivery.findMany({
    where: { state, device: accountId === undefined ? undefined : { accountId } },
    omit: { payload: true, leaseUntil: true, collapseId: true, priority: true },
    orderBy: { id: "desc" },
    take: most,
  });
}

/** The environments of APNs that nothing is sent to at the moment. */
export function listPauses({ db, now }: Deps) {
  return db.pushPause.findMany({ where: { until: { gt: now() } }, orderBy: { environment: "asc" } });
}

/**
 * Ends all pauses, and queues again what waited for them and what has failed: all that has not expired, or just the
 * given rows. Returns how many rows of each. What APNs said of a device stays as it is.
 */
export async function retryDeliveries(deps: Deps, ids: readonly string[] = []): Promise<Retried> {
  const resumed = await endPauses(deps);
  let retried = 0;
  for (let rows = STATEMENT_MOST; rows === STATEMENT_MOST; retried += rows) rows = await retrySome(deps, ids);
  return { resumed, retried };
}
type Retried = { resumed: number; retried: number };

/** Rows that met a pause came to wait until a moment after it. */
async function endPauses({ db, now }: Deps): Promise<number> {
  return db.$executeRaw`
    WITH ended AS (DELETE FROM "PushPause" RETURNING "environment", "until")
    UPDATE "PushDelivery" AS delivery SET "nextAttemptAt" = ${now()}
    FROM ended JOIN "PushDevice" AS device ON device."environment" = ended."environment"
    WHERE delivery."deviceId" = device."id" AND delivery."state" = 'queued'
      AND delivery."nextAttemptAt" BETWEEN ended."until" AND ended."until" + interval '1 minute'`;
}

/** A secret that was forgotten cannot be told again. */
async function retrySome({ db, now }: Deps, ids: readonly string[]): Promise<number> {
  const at = now();
  return db.$executeRaw`
    UPDATE "PushDelivery" SET "state" = 'queued', "attempts" = 0, "nextAttemptAt" = ${at}
    WHERE "id" IN (
      SELECT "id" FROM "PushDelivery"
      WHERE "state" = 'failed' AND "expiresAt" > ${at} AND "kind" <> ALL(${SECRET_KINDS})
        AND (${ids.length === 0} OR "id" = ANY(${ids}::uuid[]))
      LIMIT ${STATEMENT_MOST} FOR UPDATE SKIP LOCKED
    )`;
}
