import type { Tx } from "../context";
import { newId } from "../db/ids";
import type { AuditEventType } from "./event-types";
import { type Actor, type EventExtra, type EventSource, networkOf, recordSecurityEvent } from "./security-events";

/** Who acts as an operator: a signed-in account with a role, an API key, or a user at the command line. */
export type Operator = {
  actor: Actor;
  /** The account that acts. null: none does. */
  accountId: string | null;
  source: EventSource;
};

/** The source of what is done at the command line. */
export const COMMAND_LINE: EventSource = { ip: "unknown", userAgent: null };

/** What an operator did: to `target`, such as `key:ID`. */
type OperatorEvent = { type: AuditEventType; target: string; details?: EventExtra["details"] };

/** Records what an operator does to something other than an account. */
export async function recordOperatorEvent(
  tx: Tx,
  at: Date,
  { actor, accountId, source }: Operator,
  { type, target, details }: OperatorEvent,
): Promise<void> {
  const extra = { actor, target, ...(details ? { details } : {}) };
  if (accountId !== null) return recordSecurityEvent(tx, at, accountId, type, source, extra);
  const { ip, userAgent } = source;
  await tx.auditEvent.create({ data: { id: newId(), type, at, ...extra, network: networkOf(ip), userAgent } });
}
