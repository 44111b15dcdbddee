import { isIPv4 } from "node:net";
import type { Tx } from "../context";
import type { SecurityEventType } from "../db/generated/client";
import type { Caller } from "./credentials";

const CLIENT_LENGTH = 256;

/** Writes down what happened to an account. The address is cut to /24 (IPv4) or /64 (IPv6). */
export async function recordSecurityEvent(
  tx: Tx,
  at: Date,
  accountId: string,
  type: SecurityEventType,
  caller: Caller,
): Promise<void> {
  const client = caller.client?.slice(0, CLIENT_LENGTH);
  await tx.securityEvent.create({ data: { accountId, type, at, client, address: coarse(caller.address) } });
}

function coarse(address: string): string | null {
  if (address === "unknown") return null;
  return isIPv4(address) ? address.replace(/\.\d+$/, ".0/24") : address;
}
