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

function coarse(address: string): string | null {
  if (address === "unknown") return null;
  return isIPv4(address) ? address.replace(/\.\d+$/, ".0/24") : address;
}
