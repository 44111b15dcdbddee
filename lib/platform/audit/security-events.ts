import { isIPv4 } from "node:net";
import type { Tx } from "../../context";
import type { Actor, EventSource } from "../../principal";
import type { Prisma } from "../db/generated/client";
import { newId } from "../db/ids";
import { sql } from "../db/sql";
import type { AuditEventType } from "./event-types";

/**
 * `target` is what was acted on, if not the account. `details` never contain a secret, and are deleted with the
 * account.
 */
export type EventExtra = { actor?: Actor; target?: string; details?: Record<string, Prisma.InputJsonValue | null> };

/**
 * Records an event of an account in the audit trail. Only the caller's network is stored: /24 for IPv4, /64 for IPv6.
 * Nothing is recorded if the account is gone: the lock waits for a deletion, whose pseudonym must be on every event.
 */
export async function recordSecurityEvent(
  tx: Tx,
  at: Date,
  accountId: string,
  type: AuditEventType,
  source: EventSource,
  extra: EventExtra = {},
): Promise<void> {
  await tx.$executeRaw(insertSecurityEvent(at, type, source, lockedAccount(accountId), extra));
}

/** The FROM clause of an account's row, locked until its event is recorded. */
const lockedAccount = (accountId: string) => sql`"Account" WHERE "id" = ${accountId}::uuid FOR KEY SHARE`;

/**
 * The INSERT of an event as SQL, for a larger statement. `from` is the FROM clause with the account's row, which the
 * statement has created or locked; without a row nothing is recorded.
 */
export function insertSecurityEvent(
  at: Date,
  type: AuditEventType,
  { ip, userAgent }: EventSource,
  from: Prisma.Sql,
  { actor = "account", target, details }: EventExtra = {},
): Prisma.Sql {
  const json = details === undefined ? null : JSON.stringify(details);
  return sql`
    INSERT INTO "AuditEvent"
      ("id", "accountId", "type", "at", "actor", "target", "userAgent", "network", "details")
    SELECT ${newId()}::uuid, "id", ${type}, ${at}::timestamptz, ${actor}, ${target ?? null}::text, ${userAgent},
      ${networkOf(ip)}, ${json}::jsonb
    FROM ${from}`;
}

/**
 * Records a wrong password. One for an unknown email is recorded too, without an account: a statement that writes nothing
 * need not wait for the disk, and its duration would reveal which emails have an account.
 */
export async function recordFailedSignIn(tx: Tx, at: Date, email: string, source: EventSource): Promise<void> {
  const from = sql`(SELECT (SELECT "id" FROM "Account" WHERE "email" = ${email} FOR KEY SHARE) AS "id") AS "found"`;
  await tx.$executeRaw(insertSecurityEvent(at, "sign_in_failed", source, from));
}

/** A client's network: /24 for IPv4, /64 for IPv6; null if its IP is unknown. */
export function networkOf(ip: string): string | null {
  if (ip === "unknown") return null;
  return isIPv4(ip) ? ip.replace(/\.\d+$/, ".0/24") : ip;
}
