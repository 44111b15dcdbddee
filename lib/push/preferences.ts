import { z } from "zod";
import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import type { PushPreference } from "../platform/db/generated/client";
import { isLockedBy } from "../platform/db/sql";
import { OPTIONAL_KINDS } from "./notifications";
import { cancelRemoved } from "./outbox/receipts";

const NOT_THE_START = "Must not be the start";

const TimeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "Must be a time such as 22:00")
  .describe("Hours and minutes in the time zone of each device.");

/** An end before the start is on the next day. */
const QuietHours = z
  .object({ startsAt: TimeOfDay, endsAt: TimeOfDay })
  .refine(({ startsAt, endsAt }) => startsAt !== endsAt, { path: ["endsAt"], message: NOT_THE_START });

/** What an account wants to be notified of, and when. */
export const Preferences = z.object({
  kinds: z
    .object(Object.fromEntries(OPTIONAL_KINDS.map((kind) => [kind, z.boolean().default(true)])))
    .describe("Whether notifications of each kind are sent. Other kinds, such as `security.new_sign_in`, always are."),
  quietHours: QuietHours.nullable().describe(
    "Notifications are held until the quiet hours end, except those about security. null: no quiet hours.",
  ),
});
export type Preferences = z.infer<typeof Preferences>;

/** Preferences to store. Omitted fields are reset to their defaults. */
export const NewPreferences = z.object({
  kinds: Preferences.shape.kinds.prefault({}),
  quietHours: Preferences.shape.quietHours.default(null),
});

/** The name of a kind's checkbox in a form. */
export const kindField = (kind: string): string => `kind.${kind}`;

/** The same as a form sends it: a checkbox for each kind, and two times or none. */
export const PreferencesForm = z
  .looseObject({ startsAt: TimeOfDay.optional(), endsAt: TimeOfDay.optional() })
  .superRefine(({ startsAt, endsAt }, { addIssue }) => {
    if (startsAt === undefined && endsAt === undefined) return;
    const path = startsAt === undefined ? "startsAt" : "endsAt";
    const isMissing = startsAt === undefined || endsAt === undefined;
    if (isMissing) addIssue({ code: "custom", path: [path], message: "Required" });
    else if (startsAt === endsAt) addIssue({ code: "custom", path: [path], message: NOT_THE_START });
  })
  .transform(({ startsAt, endsAt, ...fields }): Preferences => {
    const kinds = Object.fromEntries(OPTIONAL_KINDS.map((kind) => [kind, fields[kindField(kind)] !== undefined]));
    return { kinds, quietHours: startsAt && endsAt ? { startsAt, endsAt } : null };
  });

/** Returns what an account wants to be notified of: everything, unless it has chosen. */
export async function readPreferences(db: Tx, accountId: string): Promise<Preferences> {
  return toPreferences(await db.pushPreference.findUnique({ where: { accountId } }));
}

/**
 * Replaces the preferences of an account, and cancels the queued notifications of kinds that it has turned off.
 * @throws AppError unauthenticated if the account was deleted concurrently
 */
export async function replacePreferences(
  { db, dbNow }: Pick<Context, "db" | "dbNow">,
  accountId: string,
  { kinds, quietHours }: Preferences,
): Promise<Preferences> {
  const mutedKinds = OPTIONAL_KINDS.filter((kind) => kinds[kind] === false);
  const quietStartMinutes = quietHours && toMinutes(quietHours.startsAt);
  const quietEndMinutes = quietHours && toMinutes(quietHours.endsAt);
  return db.$transaction(async (tx) => {
    // A deletion of the account removes its receipts, so those of the canceled deliveries are stored before or not at all.
    const [locked] = await tx.$queryRaw<{ now: Date }[]>`
      SELECT ${dbNow()} AS "now" FROM "Account" WHERE "id" = ${accountId}::uuid FOR KEY SHARE`;
    if (!locked) throw new AppError("unauthenticated");
    const chosen = { mutedKinds, quietStartMinutes, quietEndMinutes, updatedAt: locked.now };
    const create = { accountId, ...chosen };
    const row = await tx.pushPreference.upsert({ where: { accountId }, create, update: chosen });
    if (mutedKinds.length > 0) await cancelKinds(tx, locked.now, accountId, mutedKinds);
    return toPreferences(row);
  });
}

/** Cancels an account's unclaimed deliveries of some kinds. */
async function cancelKinds(tx: Tx, now: Date, accountId: string, kinds: string[]) {
  await tx.$executeRaw`
    WITH waiting AS MATERIALIZED (
      SELECT queued.ctid FROM "QueuedPush" AS queued
      JOIN "PushMessage" AS message ON message."id" = queued."messageId"
      WHERE queued."deviceId" = ANY(ARRAY(SELECT "id" FROM "PushDevice" WHERE "accountId" = ${accountId}::uuid))
        AND queued."leaseUntil" IS NULL AND message."kind" = ANY(${kinds}::text[])
      FOR UPDATE OF queued SKIP LOCKED
    ), removed AS (
      DELETE FROM "QueuedPush" AS queued WHERE ${isLockedBy("waiting", "queued")} RETURNING *
    ), ${cancelRemoved(now, "turned_off", { hasSecrets: false })}
    SELECT 1`;
}

function toPreferences(row: PushPreference | null): Preferences {
  const kinds = Object.fromEntries(OPTIONAL_KINDS.map((kind) => [kind, !row?.mutedKinds.includes(kind)]));
  const { quietStartMinutes: start = null, quietEndMinutes: end = null } = row ?? {};
  const quietHours = start === null || end === null ? null : { startsAt: toTime(start), endsAt: toTime(end) };
  return { kinds, quietHours };
}

function toMinutes(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return 60 * hours + minutes;
}

function toTime(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
}
