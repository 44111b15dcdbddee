import type { PrismaClient } from "../../lib/platform/db/generated/client";
import type { Random } from "./random";
import { DAY_MS, HOUR_MS, type Rows } from "./rows";

const VERSIONS = ["0.9.0", "1.0.0", "1.1.0"];
const DAYS_BETWEEN = 20;
/** Of a thousand deliveries. */
const FAILURES = [
  { perThousand: 15, apnsStatus: 410, reason: "Unregistered" },
  { perThousand: 4, apnsStatus: 400, reason: "BadDeviceToken" },
  { perThousand: 1, apnsStatus: 413, reason: "PayloadTooLarge" },
];

export type Announcement = { id: string; sentAt: Date };

/** Adds the announcements of versions, each sent to every device, oldest first. */
export function addAnnouncements(rows: Rows, random: Random, now: Date): Announcement[] {
  return VERSIONS.map((version, i) => {
    const sentAt = new Date(now.getTime() - ((VERSIONS.length - i) * DAYS_BETWEEN - DAYS_BETWEEN + 1) * DAY_MS);
    const id = random.id(sentAt);
    rows.add("PushMessage", {
      id,
      eventKey: `version:${version}`,
      kind: "app.new_version",
      payload: { aps: { alert: { "loc-key": "app.new_version.body", "loc-args": [version] } } },
      priority: 5,
      collapseId: "version",
      expiresAt: new Date(now.getTime() + 30 * DAY_MS),
    });
    return { id, sentAt };
  });
}

/** Adds the delivery of each announcement to a device, an hour after it began at the latest. */
export function addReceipts(
  rows: Rows,
  random: Random,
  announcements: readonly Announcement[],
  deviceId: string,
): void {
  for (const { id, sentAt } of announcements) {
    const endedAt = new Date(sentAt.getTime() + random.next() * HOUR_MS);
    const failure = failureOf(random.integer(1_000));
    rows.add("PushReceipt", {
      messageId: id,
      deviceId,
      id: random.id(endedAt),
      endedAt,
      expiresAt: new Date(sentAt.getTime() + 90 * DAY_MS),
      state: failure ? "failed" : "sent",
      attempts: 1,
      apnsStatus: failure?.apnsStatus ?? 200,
      reason: failure?.reason ?? null,
    });
  }
}

/** Counts the deliveries by hour and reason, as workers do when they end. Statistics are read from these counts. */
export async function countReceipts(
  db: PrismaClient,
  random: Random,
  announcements: readonly Announcement[],
  now: Date,
): Promise<void> {
  const writer = random.id(now);
  const ids = announcements.map(({ id }) => id);
  await db.$executeRaw`
    INSERT INTO "PushOutcomeCount" ("messageId", "hour", "state", "reason", "writer", "count")
    SELECT "messageId", date_trunc('hour', "endedAt", 'UTC'), "state", coalesce("reason", ''), ${writer}::uuid, count(*)
    FROM "PushReceipt" WHERE "messageId" = ANY(${ids}::uuid[]) GROUP BY 1, 2, 3, 4`;
}

function failureOf(drawn: number) {
  let from = 0;
  return FAILURES.find(({ perThousand }) => {
    from += perThousand;
    return drawn < from;
  });
}
