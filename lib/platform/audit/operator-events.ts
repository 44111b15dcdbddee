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
import { type EventExtra, insertSecurityEvent, recordSecurityEvent } from "./security-events";

export const COMMAND_LINE: EventSource = { ip: "unknown", userAgent: null };

/** What an operator did: to `target`, such as `key:ID`. */
type OperatorEvent = { type: AuditEventType; target: string; details?: EventExtra["details"] };

/**
 * Records what an operator does to something other than an account, in the transaction that does it.
 * @throws AppError unauthenticated if the operator's account was deleted or disabled meanwhile
 */
export async function recordOperatorEvent(tx: Tx, at: Date, operator: Operator, event: OperatorEvent): Promise<void> {
  if ((await tx.$executeRaw(insertOperatorEvent(at, operator, event))) === 0) throw new AppError("unauthenticated");
}

/** The INSERT of such an event as SQL, for a larger statement. Inserts no row if the operator may no longer act. */
export function insertOperatorEvent(
  at: Date,
  operator: Operator,
  { type, target, details }: OperatorEvent,
): Prisma.Sql {
  const extra = { actor: operator.actor, target, ...(details ? { details } : {}) };
  return insertSecurityEvent(at, type, operator.source, actingOperator(operator), extra);
}

/**
 * A FROM item with one row, the operator's account, which stays until the end of the transaction; its id is null for an operator
 * without one. Without a row the operator may no longer act.
 */
export function actingOperator({ accountId }: Operator): Prisma.Sql {
  if (accountId === null) return sql`(SELECT NULL::uuid AS "id") AS "operator"`;
  return sql`(
    SELECT "id" FROM "Account" WHERE "id" = ${accountId}::uuid AND "disabledAt" IS NULL FOR KEY SHARE) AS "operator"`;
}

/** Requires that an operator may still act. @throws AppError unauthenticated */
export async function requireOperator(tx: Tx, operator: Operator): Promise<void> {
  const rows = await tx.$queryRaw<object[]>`SELECT "id"::text FROM ${actingOperator(operator)}`;
  if (rows.length === 0) throw new AppError("unauthenticated");
}

/** What an operator did to an account, and why, in the operator's own words. */
type AccountChangeEvent = Pick<EventExtra, "details" | "target"> & { type: AuditEventType; reason?: string };

/**
 * Records what an operator does to an account, which is locked, in that account's trail.
 * @throws AppError unauthenticated if the operator's account was deleted or disabled meanwhile
 */
export async function recordAccountChange(
  tx: Tx,
  at: Date,
  operator: Operator,
  accountId: string,
  { type, reason, details, ...on }: AccountChangeEvent,
): Promise<void> {
  const extra = { actor: actorOn(operator, accountId), ...on, ...withReason(details, reason) };
  if (!isAnother(operator, accountId)) return recordSecurityEvent(tx, at, accountId, type, operator.source, extra);
  const from = sql`(
    SELECT "subject"."id" FROM "Account" AS "subject", ${actingOperator(operator)}
    WHERE "subject"."id" = ${accountId}::uuid FOR KEY SHARE OF "subject") AS "locked"`;
  const recorded = await tx.$executeRaw(insertSecurityEvent(at, type, operator.source, from, extra));
  if (recorded === 0) throw new AppError("unauthenticated");
}

/** How an event of an account names the operator: by their own account, unless it is this one. */
export function actorOn(operator: Operator, subjectId: string): Actor {
  return isAnother(operator, subjectId) ? `account:${operator.accountId}` : operator.actor;
}

/** Whether an operator acts with an account that is not the one it changes. */
const isAnother = ({ accountId }: Operator, subjectId: string) => accountId !== null && accountId !== subjectId;

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
