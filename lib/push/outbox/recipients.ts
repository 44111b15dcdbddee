import type { Context, Tx } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import { type Audience, type AudienceDevice, isInAudience } from "../audience";
import { type DevicePreferences, joinPreferences, PREFERENCE_COLUMNS } from "../time-to-notify";

/** Bounds how long a statement locks its devices, and how long other queries of an embedded database wait. */
export const BATCH_SIZE = 5_000;

export type MessageTarget = { accountId: string | null; deviceId: string | null; audience: Audience | null };

export const EVERY_DEVICE: MessageTarget = { accountId: null, deviceId: null, audience: null };

export type Candidate = DevicePreferences & AudienceDevice & { id: string; accountId: string };

/** Reads the next devices by id, of which some may not belong to the target's audience: `selectAudience` finds those that do. */
export function readCandidates(
  db: Tx,
  target: MessageTarget,
  { status, after, lock = empty }: { status: string; after: string; lock?: Prisma.Sql },
): Promise<Candidate[]> {
  return db.$queryRaw`
    SELECT device."id"::text, device."accountId"::text, device."appVersion", device."bundleId", device."lastSeenAt",
      device."locale", device."model", ${PREFERENCE_COLUMNS}
    FROM "PushDevice" AS device ${joinPreferences}
    WHERE device."status" = ${status}::"PushDeviceStatus" AND device."id" > ${after}::uuid AND ${isTargeted(target)}
    ORDER BY device."id" LIMIT ${BATCH_SIZE} ${lock}`;
}

/** Whether browsers may be among a target's devices: all active ones of its account and its app count, whatever else it asks for. */
export async function mayReachBrowsers(db: Tx, target: MessageTarget): Promise<boolean> {
  const [row] = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM "PushDevice" AS device
    WHERE device."environment" = 'web' AND device."status" = 'active' AND ${isTargeted(target)} LIMIT 1`;
  return row !== undefined;
}

/** Whether a row `device` is of the target's account, device and app. */
function isTargeted({ accountId, deviceId, audience }: MessageTarget): Prisma.Sql {
  const bundleId = audience?.bundleId ?? null;
  return sql`(${bundleId}::text IS NULL OR device."bundleId" = ${bundleId})
      ${accountId === null ? empty : sql`AND device."accountId" = ${accountId}::uuid`}
      ${deviceId === null ? empty : sql`AND device."id" = ${deviceId}::uuid`}`;
}

/** Returns the devices that belong to an audience, in their order. */
export async function selectAudience(
  { entitledAccounts }: Pick<Context, "entitledAccounts">,
  db: Tx,
  devices: readonly Candidate[],
  audience: Audience | null,
): Promise<readonly Candidate[]> {
  if (audience === null) return devices;
  const matching = devices.filter((device) => isInAudience(device, audience));
  const { entitlement } = audience;
  if (entitlement === undefined || matching.length === 0) return matching;
  const accountIds = [...new Set(matching.map(({ accountId }) => accountId))];
  const entitled = await entitledAccounts(db, accountIds, entitlement);
  return matching.filter(({ accountId }) => entitled.has(accountId));
}
