import type { Tx } from "../../context";
import { AppError } from "../../errors";
import type {
  Actor,
  AnyPrincipal,
  Caller,
  EventSource,
  KeyPrincipal,
  Operator,
  PublisherPrincipal,
} from "../../principal";
import type { Prisma } from "../db/generated/client";
import { sql } from "../db/sql";
import type { AuditEventType } from "./event-types";
import { type EventExtra, insertSecurityEvent, lockedAccount, recordSecurityEvent } from "./security-events";

export const COMMAND_LINE: EventSource = { ip: "unknown", userAgent: null };

/** What an operator did: to `target`, such as `key:ID`. */
type OperatorEvent = { type: AuditEventType; target: string; details?: EventExtra["details"] };

/** Records what an operator does to something other than an account. */
export async function recordOperatorEvent(tx: Tx, at: Date, operator: Operator, event: OperatorEvent): Promise<void> {
  await tx.$executeRaw(insertOperatorEvent(at, operator, event));
}

/** The INSERT of such an event as SQL, for a larger statement. */
export function insertOperatorEvent(
  at: Date,
  { actor, accountId, source }: Operator,
  { type, target, details }: OperatorEvent,
): Prisma.Sql {
  const from = accountId === null ? sql`(SELECT NULL::uuid AS "id") AS nobody` : lockedAccount(accountId);
  return insertSecurityEvent(at, type, source, from, { actor, target, ...(details ? { details } : {}) });
}

/** What an operator did to an account, and why, in the operator's own words. */
type AccountChangeEvent = { type: AuditEventType; reason?: string; details?: EventExtra["details"] };

/** Records what an operator does to an account, in that account's trail. */
export function recordAccountChange(
  tx: Tx,
  at: Date,
  operator: Operator,
  accountId: string,
  { type, reason, details }: AccountChangeEvent,
): Promise<void> {
  const extra = { actor: actorOn(operator, accountId), ...withReason(details, reason) };
  return recordSecurityEvent(tx, at, accountId, type, operator.source, extra);
}

/** How an event of an account names the operator: by their own account, unless it is this one. */
export function actorOn({ actor, accountId }: Operator, subjectId: string): Actor {
  return accountId === null || accountId === subjectId ? actor : `account:${accountId}`;
}

/** The details of an event with the operator's reason; none at all if both are absent. */
export function withReason(details: EventExtra["details"], reason: string | undefined): Pick<EventExtra, "details"> {
  if (reason === undefined) return details === undefined ? {} : { details };
  return { details: { ...details, reason } };
}

/** The person behind an operator: an account, or whoever runs commands on this machine. Keys and CI jobs are themselves. */
export function personOf({ accountId, actor }: Pick<Operator, "accountId" | "actor">): string {
  return accountId === null ? actor.replace(/^operator:.*/, "operator") : `account:${accountId}`;
}

/** Who owns what a caller creates. Nobody else may change it. */
export function ownerOf(principal: AnyPrincipal): string {
  if ("operator" in principal) return principal.operator;
  if ("publisher" in principal) return `publisher:${principal.publisher.id}`;
  return "key" in principal ? `key:${principal.key.id}` : `account:${principal.account.id}`;
}

/**
 * The operator who sends a request: the account of the session, the API key, the CI job, or who runs a command on this machine.
 * @throws Error without a principal
 */
export function operatorOf(principal: AnyPrincipal | null, source: Caller): Operator {
  if (principal === null) throw new Error("Anybody is admitted, so nobody acts as an operator");
  if ("operator" in principal) return commandLineOf(principal);
  if ("publisher" in principal) return publisherOf(principal, source);
  if ("key" in principal) return keyOf(principal, source);
  return { actor: "account", accountId: principal.account.id, source };
}

function publisherOf({ publisher }: PublisherPrincipal, source: Caller): Operator {
  const { id, product, channel } = publisher;
  const releaseAccess = { products: [product], channel };
  return { actor: `publisher:${id}`, accountId: null, source, releaseAccess, publisher };
}

function keyOf({ key: { id, products } }: KeyPrincipal, source: Caller): Operator {
  const releaseAccess = products.length > 0 ? { releaseAccess: { products, channel: null } } : {};
  return { actor: `key:${id}`, accountId: null, source, ...releaseAccess };
}

/** The person at the service's machine who runs a command. @throws AppError forbidden for anybody else */
export function commandLineOf(principal: AnyPrincipal): Operator {
  if ("operator" in principal) return { actor: principal.operator, accountId: null, source: COMMAND_LINE };
  throw new AppError("forbidden", "This is for commands on the service's own machine.");
}
