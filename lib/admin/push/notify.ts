import { randomUUID } from "node:crypto";
import type { Context } from "../../context";
import { enqueue, enqueueBroadcast } from "../../push/outbox/enqueue";

type Deps = Pick<Context, "db" | "dbNow">;

/** Bounds how long a statement locks its devices. */
const MAX_ROWS_PER_STATEMENT = 10_000;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

type CustomNotification = { accountId: string; title: string; body: string; link: string | null };
type Announcement = { version: string; bundleId?: string | null; perSecond: number };
type Batch = Parameters<typeof enqueueBroadcast>[2]["to"];

/**
 * Queues a notification with custom text for an account's devices. Returns the number of devices.
 * @throws RangeError for a payload over 4,096 bytes
 */
export function sendCustomNotification(
  { db, dbNow }: Deps,
  { accountId, ...text }: CustomNotification,
): Promise<number> {
  const eventKey = `custom:${randomUUID()}`;
  const message = { kind: "custom", ...text } as const;
  return db.$transaction((tx) => enqueue(tx, dbNow(), { eventKey, to: { accountId }, message }));
}

/**
 * Queues the announcement of a version for every device, or every device of one app, and returns the number of devices.
 * `perSecond` devices are due per second, so that other notifications do not wait and clients do not all update at once.
 * Each device is notified of a version once, so an interrupted call can be repeated.
 */
export async function announceVersion(
  { db, dbNow }: Deps,
  { version, bundleId = null, perSecond }: Announcement,
): Promise<number> {
  const [{ startedAt } = { startedAt: new Date() }] = await db.$queryRaw<{ startedAt: Date }[]>`
    SELECT ${dbNow()} AS "startedAt"`;
  let added = 0;
  let afterDeviceId: string | null = NIL_ID;
  while (afterDeviceId !== null) {
    const from = new Date(startedAt.getTime() + (added / perSecond) * 1000);
    const to: Batch = { afterDeviceId, bundleId, limit: MAX_ROWS_PER_STATEMENT, from, perSecond };
    const message = { kind: "app.new_version", version } as const;
    const event = { eventKey: `version:${version}`, to, message };
    const batch = await db.$transaction((tx) => enqueueBroadcast(tx, dbNow(), event));
    added += batch.added;
    afterDeviceId = batch.lastDeviceId;
  }
  return added;
}
