import { createHash } from "node:crypto";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { nameActors } from "../../platform/audit/list-events";
import { recordAccountChange } from "../../platform/audit/operator-events";
import { isUuid, newId } from "../../platform/db/ids";
import { Email } from "../../platform/email";
import { findAccountId } from "../../platform/find-account";
import { readPage } from "../../platform/lists";
import type { AnyPrincipal, Operator } from "../../principal";
import type { BillingRules } from "../entitlement-rules";
import { EventFacts, type ProviderEvent } from "../events";
import { applyEvents } from "../inbox/apply";
import { inTransaction, storeAndApply } from "../inbox/inbox";
import { type EventToApply, keyOf } from "../inbox/lock";
import { buildProviderEvent } from "../providers/build-event";
import { HOMEPORT } from "../providers/find-provider";
import type { BatchGrant, BatchGrantResults, Grant, GrantChange, Grants, GrantsQuery, NewGrant, Terms } from "./schema";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now" | "webhooks"> & { config: BillingRules };

/** Who acts, and what they may. */
type Who = { operator: Operator; principal: AnyPrincipal };

const DAY_MS = 24 * 60 * 60 * 1000;
export const MAX_SUPPORT_DAYS = 30;

/** Grants to an account with the same key are one: a key that the request names, or the terms. */
type Key = readonly (string | number)[];

/** A grant to make. `endsAt` is null if it does not end. */
type CheckedTerms = { entitlementId: string; grantedAt: Date; endsAt: Date | null; reason: string };

/**
 * Grants an entitlement to an account: a purchase in the store PROMOTIONAL, whose event goes through the inbox as a
 * provider's does. A further grant extends the access, and another one with the same key does nothing.
 * @throws AppError not_found, validation_failed, entitlement_unknown, grant_too_long
 */
export async function grantEntitlement(
  deps: Deps,
  { operator, principal }: Who,
  { accountId, key = newId(), ...given }: NewGrant,
): Promise<GrantChange> {
  const terms = await checkTerms(deps, principal, given);
  const granted = await grantAll(deps, operator, [accountId], [key], terms);
  const isChanged = granted.get(accountId);
  if (isChanged === undefined) throw new AppError("not_found", "There is no such account.");
  const originalTransactionId = transactionOf(accountId, [key]);
  const [grant] = await readGrants(deps, { accountId, originalTransactionId });
  if (!grant) throw new AppError("not_found", "The account was deleted meanwhile.");
  return { grant, isChanged };
}

/**
 * The same for the accounts with some emails. The same terms are granted to an account once, however often this is called.
 * @throws AppError validation_failed, entitlement_unknown, grant_too_long
 */
export async function grantToEmails(
  deps: Deps,
  { operator, principal }: Who,
  { emails, isDryRun, ...given }: BatchGrant,
): Promise<BatchGrantResults> {
  const terms = await checkTerms(deps, principal, given);
  const { entitlementId, until, days, reason } = given;
  const key = [entitlementId, until?.toISOString() ?? days ?? "lifetime", reason];
  const normalized = emails.map((email) => Email.safeParse(email).data ?? "");
  const accounts = await deps.db.account.findMany({
    where: { email: { in: normalized } },
    select: { id: true, email: true },
  });
  const ids = accounts.map(({ id }) => id);
  const granted = isDryRun ? await wouldGrant(deps, ids, key) : await grantAll(deps, operator, ids, key, terms);
  const idOf = new Map(accounts.map(({ id, email }) => [email, id]));
  const results = emails.map((email, i): BatchGrantResults["results"][number] => {
    const id = idOf.get(normalized[i] ?? "") ?? "";
    const isChanged = granted.get(id);
    if (isChanged === undefined) return { email, status: "unknown_account" };
    granted.set(id, false); // an email that follows again
    return { email, status: isChanged ? "granted" : "unchanged" };
  });
  return { results };
}

/**
 * Ends a grant now. Does nothing if it has ended.
 * @throws AppError not_found, grant_too_long
 */
export async function endGrant(
  deps: Deps,
  { operator, principal }: Who,
  id: string,
  { reason }: { reason?: string | undefined },
): Promise<GrantChange> {
  const isChanged = await inTransaction(deps, async (tx) => {
    const purchase = await tx.purchase.findUnique({ where: { id, provider: HOMEPORT, accountId: { not: null } } });
    const [accountId] = purchase?.accountId ? await lockAccounts(tx, [purchase.accountId]) : [];
    if (!purchase || accountId === undefined) throw new AppError("not_found", "There is no such grant.");
    const at = deps.now();
    const { startedAt, currentPeriodEndsAt: endsAt, endedAt, originalTransactionId: transaction } = purchase;
    if (endedAt !== null || (endsAt !== null && endsAt <= at)) return false;
    assertAllowed(principal, startedAt ?? at, endsAt);
    const facts = { purchasedAt: startedAt, expirationReason: "DEVELOPER_INITIATED", operator: by(operator, reason) };
    const event = grantEvent("GRANT_ENDED", { accountId, transaction, occurredAt: at, facts });
    const applied = await applyEvents(deps, tx, [event]);
    if (!isProcessed(applied, event)) return false;
    const [entitlementId = ""] = purchase.entitlementIds;
    const details = { purchaseId: id, entitlementId };
    await recordAccountChange(tx, at, operator, accountId, { type: "grant_ended", reason, details });
    return true;
  });
  const [grant] = await readGrants(deps, { id });
  if (!grant) throw new AppError("not_found", "The account was deleted meanwhile.");
  return { grant, isChanged };
}

/** Lists what operators granted to an account, newest first. @throws AppError not_found, invalid_query */
export async function listGrants(deps: Pick<Deps, "db" | "now">, { account, ...page }: GrantsQuery): Promise<Grants> {
  const accountId = await findAccountId(deps, account);
  const { entries, nextCursor } = await readPage(`grants of ${accountId}`, page, ({ after, take }) => {
    return readGrants(deps, { accountId, ...(after !== null && isUuid(after) && { id: { lt: after } }) }, take);
  });
  return { grants: [...entries], nextCursor };
}

/** The entitlements that the configuration names. */
export function configuredEntitlements({ BILLING_PRODUCTS: products }: Pick<BillingRules, "BILLING_PRODUCTS">) {
  return [...new Set([...products.values()].flat())].toSorted();
}

/** The grants that one call of `expireGrants` ends, and how long ago they may have ended. */
const MAX_EXPIRED = 200;
const MAX_EXPIRED_DAYS = 30;

/**
 * Stores an EXPIRATION for each grant that has reached its end, as a provider sends one, so that its owner and webhooks are
 * notified. Several processes may do this at the same time.
 */
export async function expireGrants(deps: Deps): Promise<void> {
  const at = deps.now();
  const receivedAt = at;
  const earliest = new Date(at.getTime() - MAX_EXPIRED_DAYS * DAY_MS);
  type Expired = { accountId: string; transaction: string; startedAt: Date | null; endsAt: Date };
  const expired = await deps.db.$queryRaw<Expired[]>`
    SELECT "accountId"::text, "originalTransactionId" AS transaction, "startedAt", "currentPeriodEndsAt" AS "endsAt"
    FROM "Purchase"
    WHERE "currentPeriodEndsAt" > ${earliest}::timestamptz AND "currentPeriodEndsAt" <= ${at}::timestamptz
      AND "endedAt" IS NULL AND "unsubscribedAt" IS NULL AND NOT "isLifetime" AND environment = 'PRODUCTION'
      AND provider IS NOT DISTINCT FROM ${HOMEPORT} AND "accountId" IS NOT NULL
    ORDER BY "currentPeriodEndsAt" LIMIT ${MAX_EXPIRED}::integer`;
  await Promise.all(
    expired.map(({ accountId, transaction, startedAt, endsAt }) => {
      const facts = { purchasedAt: startedAt, expiresAt: endsAt };
      const { newEvent } = grantEvent("EXPIRATION", { accountId, transaction, occurredAt: endsAt, facts });
      return storeAndApply(deps, { ...newEvent, receivedAt });
    }),
  );
}

/** @throws AppError validation_failed, entitlement_unknown, grant_too_long */
async function checkTerms(deps: Deps, principal: AnyPrincipal, given: Terms): Promise<CheckedTerms> {
  const { entitlementId, until, days, isLifetime, reason } = given;
  const at = deps.now();
  const invalid = (code: string, detail: string) =>
    new AppError("validation_failed", { errors: [{ pointer: "/until", code, detail }] });
  if ([until, days, isLifetime].filter((one) => one !== undefined).length !== 1)
    throw invalid("one_of", "Send either until, days or isLifetime");
  if (until && until <= at) throw invalid("past", "Must be in the future");
  const endsAt = days === undefined ? (until ?? null) : new Date(at.getTime() + days * DAY_MS);
  assertAllowed(principal, at, endsAt);
  await assertKnown(deps, entitlementId);
  return { entitlementId, grantedAt: at, endsAt, reason };
}

/** @throws AppError grant_too_long */
function assertAllowed(principal: AnyPrincipal, from: Date, endsAt: Date | null): void {
  const isSupport = "account" in principal && principal.account.role !== "admin";
  if (!isSupport || (endsAt !== null && endsAt.getTime() - from.getTime() <= MAX_SUPPORT_DAYS * DAY_MS)) return;
  throw new AppError("grant_too_long", {
    detail: `Support may grant an entitlement for ${MAX_SUPPORT_DAYS} days, and end such a grant.`,
    fields: { maxDays: MAX_SUPPORT_DAYS },
  });
}

/** Without entitlements in the configuration, any id may be right. @throws AppError entitlement_unknown */
async function assertKnown({ config, db }: Pick<Deps, "config" | "db">, entitlementId: string): Promise<void> {
  const known = configuredEntitlements(config);
  if (known.length === 0 || known.includes(entitlementId)) return;
  const where = { entitlementIds: { has: entitlementId } };
  if (await db.purchase.findFirst({ where, select: { id: true } })) return;
  const detail = `${entitlementId} is not in BILLING_PRODUCTS. Known entitlements: ${known.join(", ")}.`;
  throw new AppError("entitlement_unknown", { detail, fields: { known } });
}

/**
 * Grants to those of some accounts that exist, each once for a key, with its events in the audit trail. Returns whether each
 * account got the grant now.
 */
function grantAll(deps: Deps, operator: Operator, accountIds: string[], key: Key, terms: CheckedTerms) {
  return inTransaction(deps, async (tx) => {
    const { entitlementId, grantedAt: occurredAt, endsAt, reason } = terms;
    const facts = {
      purchasedAt: occurredAt,
      expiresAt: endsAt,
      productId: entitlementId,
      entitlementIds: [entitlementId],
      operator: by(operator, reason),
    };
    const events = (await lockAccounts(tx, accountIds)).map((accountId) => {
      const transaction = transactionOf(accountId, key);
      return { accountId, ...grantEvent("GRANT", { accountId, transaction, occurredAt, facts }) };
    });
    const applied = await applyEvents(deps, tx, events);
    const granted = events.filter((event) => isProcessed(applied, event));
    const purchaseIds = await readPurchaseIds(tx, granted);
    for (const { accountId } of granted) {
      const purchaseId = purchaseIds.get(accountId) ?? null;
      const details = { purchaseId, entitlementId, endsAt: endsAt?.toISOString() ?? null };
      await recordAccountChange(tx, occurredAt, operator, accountId, { type: "entitlement_granted", reason, details });
    }
    return new Map(events.map((event) => [event.accountId, granted.includes(event)]));
  });
}

async function lockAccounts(tx: Tx, ids: string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM "Account" WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR KEY SHARE`;
  return rows.map(({ id }) => id);
}

async function readPurchaseIds(tx: Tx, granted: readonly GrantEvent[]): Promise<Map<string | null, string>> {
  const transactions = granted.flatMap(({ newEvent }) => newEvent.event.originalTransactionId ?? []);
  const purchases = await tx.purchase.findMany({
    where: { originalTransactionId: { in: transactions }, provider: HOMEPORT },
    select: { id: true, accountId: true },
  });
  return new Map(purchases.map(({ id, accountId }) => [accountId, id]));
}

async function wouldGrant({ db }: Pick<Deps, "db">, accountIds: string[], key: Key): Promise<Map<string, boolean>> {
  const transactions = new Map(accountIds.map((accountId) => [accountId, transactionOf(accountId, key)]));
  const stored = await db.billingEvent.findMany({
    where: { provider: HOMEPORT, eventId: { in: [...transactions.values()].map((one) => eventIdOf("GRANT", one)) } },
    select: { originalTransactionId: true },
  });
  const known = new Set(stored.map(({ originalTransactionId }) => originalTransactionId));
  return new Map([...transactions].map(([accountId, transaction]) => [accountId, !known.has(transaction)]));
}

type GrantEvent = EventToApply & { newEvent: NonNullable<EventToApply["newEvent"]> };
type GrantEventType = "GRANT" | "GRANT_ENDED" | "EXPIRATION";
type Given = { accountId: string; transaction: string; occurredAt: Date; facts: Partial<EventFacts> };

/** An event of a grant. Its id follows from the transaction, so that no event happens twice. */
function grantEvent(type: GrantEventType, { accountId, transaction, occurredAt, facts }: Given): GrantEvent {
  const key = { provider: HOMEPORT, eventId: eventIdOf(type, transaction) };
  const event: ProviderEvent = {
    ...buildProviderEvent({
      type,
      occurredAt,
      environment: "PRODUCTION",
      store: "PROMOTIONAL",
      purchaseId: transaction,
      transactionId: null,
      customers: [accountId],
      facts,
    }),
    appUserId: null, // no provider knows the customer
  };
  return { ...key, accountIds: [accountId], newEvent: { ...key, event, payload: null, receivedAt: occurredAt } };
}

const eventIdOf = (type: GrantEventType, transaction: string) => `${type.toLowerCase()}:${transaction}`;

/** Outlives the account: its id cannot be derived from it, as from a pseudonym. */
const transactionOf = (accountId: string, key: Key) =>
  `grant-${createHash("sha256")
    .update(JSON.stringify([accountId, ...key]))
    .digest("base64url")}`;

const isProcessed = (applied: Awaited<ReturnType<typeof applyEvents>>, event: EventToApply) =>
  applied.get(keyOf(event))?.status === "processed";

function by({ actor, accountId }: Operator, reason: string | undefined): NonNullable<EventFacts["operator"]> {
  return { actor: accountId === null ? actor : `account:${accountId}`, reason: reason ?? null };
}

type Where = { id?: string | { lt: string }; accountId?: string; originalTransactionId?: string };

async function readGrants({ db, now }: Pick<Deps, "db" | "now">, where: Where, take = 1): Promise<Grant[]> {
  const purchases = await db.purchase.findMany({
    where: { accountId: { not: null }, ...where, provider: HOMEPORT },
    include: { events: { where: { type: { in: ["GRANT", "GRANT_ENDED"] } }, select: { type: true, facts: true } } },
    orderBy: { id: "desc" },
    take,
  });
  const at = now();
  const grants = purchases.map(({ id, accountId, entitlementIds, currentPeriodEndsAt, endedAt, events }) => {
    const who = (type: GrantEventType) => {
      const facts = events.find((event) => event.type === type)?.facts;
      const { operator, occurredAt } =
        facts === undefined ? { operator: null, occurredAt: at } : EventFacts.parse(facts);
      return operator && { ...operator, at: occurredAt };
    };
    const endsAt = endedAt ?? currentPeriodEndsAt;
    const isActive = endedAt === null && (endsAt === null || endsAt > at);
    const [entitlementId = ""] = entitlementIds;
    return {
      id,
      accountId: accountId ?? "",
      entitlementId,
      isActive,
      endsAt,
      granted: who("GRANT"),
      ended: who("GRANT_ENDED"),
    };
  });
  const names: ReadonlyMap<string, string> = await nameActors(
    { db },
    grants.flatMap(({ granted, ended }) => [granted, ended].filter((one) => one !== null)),
  );
  const named = <T extends { actor: string }>(one: T) => ({ ...one, name: names.get(one.actor) ?? null });
  return grants.flatMap(({ granted, ended, ...grant }) =>
    granted === null ? [] : [{ ...grant, granted: named(granted), ended: ended && named(ended) }],
  );
}
