import { isIPv4 } from "node:net";
import type { Tx } from "../context";
import type { Prisma, SecurityEventType } from "../db/generated/client";
import { newId } from "../db/ids";
import { sql } from "../db/sql";
import type { Caller } from "./caller";

type EventSource = Pick<Caller, "ip" | "userAgent">;

/** Records a security event of an account. Only the caller's network is stored: /24 for IPv4, /64 for IPv6. */
export async function recordSecurityEvent(
  tx: Tx,
  at: Date,
  accountId: string,
  type: SecurityEventType,
  { ip, userAgent }: EventSource,
): Promise<void> {
  await tx.securityEvent.create({ data: { accountId, type, at, userAgent, network: networkOf(ip) } });
}

/**
 * The INSERT of a security event as SQL, for a larger statement. `from` is the FROM clause with the account's row; without
 * a row nothing is recorded.
 */
export function insertSecurityEvent(
  at: Date,
  type: SecurityEventType,
  { ip, userAgent }: EventSource,
  from: Prisma.Sql,
): Prisma.Sql {
  return sql`
    INSERT INTO "SecurityEvent" ("id", "accountId", "type", "at", "userAgent", "network")
    SELECT ${newId()}::uuid, "id", ${type}::"SecurityEventType", ${at}::timestamptz, ${userAgent}, ${networkOf(ip)}
    FROM ${from}`;
}

/**
 * Records a wrong password, if the email has an account. Known and unknown emails run the same statement, so that its
 * duration does not reveal which emails have an account.
 */
export async function recordFailedSignIn(tx: Tx, at: Date, email: string, source: EventSource): Promise<void> {
  const from = sql`"Account" WHERE "email" = ${email}`;
  await tx.$executeRaw(insertSecurityEvent(at, "sign_in_failed", source, from));
}

/** An account's newest security events, also after the account was deleted. */
export function listSecurityEvents({ db }: { db: Tx }, accountId: string, limit: number) {
  return db.securityEvent.findMany({
    where: { accountId },
    omit: { accountId: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: limit,
  });
}

/** A client's network: /24 for IPv4, /64 for IPv6; null if its IP is unknown. */
export function networkOf(ip: string): string | null {
  if (ip === "unknown") return null;
  return isIPv4(ip) ? ip.replace(/\.\d+$/, ".0/24") : ip;
}
