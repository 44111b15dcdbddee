import { randomUUID } from "node:crypto";
import { isIPv4 } from "node:net";
import type { Tx } from "../context";
import type { SecurityEventType } from "../db/generated/client";
import type { Caller } from "./credentials";

/** Writes down what happened to an account. The address is cut to /24 (IPv4) or /64 (IPv6). */
export async function recordSecurityEvent(
  tx: Tx,
  at: Date,
  accountId: string,
  type: SecurityEventType,
  caller: Pick<Caller, "address" | "client">,
): Promise<void> {
  const { address, client } = caller;
  await tx.securityEvent.create({ data: { accountId, type, at, client, address: coarse(address) } });
}

/**
 * Writes down a wrong password for an address, where it has an account: one statement either way, so that the time it
 * takes does not tell.
 */
export async function recordFailedSignIn(tx: Tx, at: Date, email: string, caller: Caller): Promise<void> {
  const { address, client } = caller;
  await tx.$executeRaw`
    INSERT INTO "SecurityEvent" ("id", "accountId", "type", "at", "client", "address")
    SELECT ${randomUUID()}::uuid, "id", 'sign_in_failed', ${at}::timestamptz, ${client}, ${coarse(address)}
    FROM "Account" WHERE "email" = ${email}`;
}

function coarse(address: string): string | null {
  if (address === "unknown") return null;
  return isIPv4(address) ? address.replace(/\.\d+$/, ".0/24") : address;
}
