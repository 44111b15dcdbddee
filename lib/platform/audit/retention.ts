import { createHmac } from "node:crypto";
import type { Context, Tx } from "../../context";
import type { Prisma } from "../db/generated/client";
import { deleteBatch, removeInBatches } from "../db/remove-in-batches";
import { sql, uuidArray } from "../db/sql";

type Config = Pick<Context["config"], "secrets">;

/**
 * The id that replaces a deleted account's in the audit trail: a version 8 UUID (RFC 9562, section 5.8) of 122 bits of a
 * keyed hash. An operator who knows the account's id still finds its events; nobody learns the id from them.
 */
export function auditPseudonym({ secrets }: Config, accountId: string): string {
  return pseudonymOf(secrets[0], accountId);
}

/** The ids under which a deleted account's events may be: one for each secret, as events are kept longer than a rotation. */
export function auditPseudonyms({ secrets }: Config, accountId: string): string[] {
  return secrets.map((secret) => pseudonymOf(secret, accountId));
}

function pseudonymOf(secret: string, accountId: string): string {
  const bytes = createHmac("sha256", secret).update(`audit-trail:${accountId}`).digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/**
 * Replaces the ids of accounts in the audit trail by their pseudonyms, in the transaction that deletes the accounts, and
 * removes what describes a client: network, user agent and details. What the accounts did to others as operators stays.
 */
export async function pseudonymizeEvents(config: Config, tx: Tx, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  const pseudonyms = accountIds.map((id) => auditPseudonym(config, id));
  await tx.$executeRaw`
    UPDATE "AuditEvent" SET "accountId" = "pseudonym", "network" = NULL, "userAgent" = NULL, "details" = NULL
    FROM unnest(${uuidArray(accountIds)}, ${uuidArray(pseudonyms)}) AS deleted ("id", "pseudonym")
    WHERE "accountId" = deleted."id"`;
  await tx.$executeRaw`
    UPDATE "AuditEvent" SET "actor" = 'account:' || "pseudonym"
    FROM unnest(${uuidArray(accountIds)}, ${uuidArray(pseudonyms)}) AS deleted ("id", "pseudonym")
    WHERE "actor" <> 'account' AND "actor" = 'account:' || deleted."id"`;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long the audit trail keeps an event. */
const TTL_MS = 365 * DAY_MS;
/** How long it keeps a failed sign-in without an account, of which strangers can cause any number. */
const UNKNOWN_EMAIL_TTL_MS = 7 * DAY_MS;

/** Removes the events of the audit trail that are older than a year, or a week. Returns how many. */
export async function removeOldAuditEvents({ db, now }: Pick<Context, "db" | "now">): Promise<number> {
  const before = (ttlMs: number) => sql`"at" < ${new Date(now().getTime() - ttlMs)}::timestamptz`;
  const remove = (condition: Prisma.Sql) =>
    removeInBatches(() => db.$executeRaw(deleteBatch("AuditEvent", "id", condition, "at")));
  const ofUnknownEmail = sql`"type" = 'sign_in_failed' AND "accountId" IS NULL AND ${before(UNKNOWN_EMAIL_TTL_MS)}`;
  return (await remove(before(TTL_MS))) + (await remove(ofUnknownEmail));
}
