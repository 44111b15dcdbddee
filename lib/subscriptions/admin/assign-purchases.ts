import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { newId } from "../../platform/db/ids";
import { withRetry } from "../../platform/db/transaction";
import type { Operator } from "../../principal";
import { normalizeAppUserIds, possibleAccountIds } from "../app-user-ids";
import type { BillingRules } from "../entitlement-rules";
import type { ProviderEvent } from "../events";
import { findConnectedCustomers } from "../inbox/customers";
import { applyEvent } from "../inbox/inbox";
import { lockPurchases } from "../inbox/lock";
import { storeEvent } from "../inbox/store";
import { buildAliasEvent } from "../providers/build-event";
import { HOMEPORT } from "../providers/find-provider";
import type { StoredPurchase } from "../purchase-state";
import { toStoredId } from "../sanitize";
import type { AssignedPurchases, Assignment } from "./schema";

type Deps = Pick<Context, "billing" | "db" | "dbNow" | "log" | "now" | "webhooks"> & { config: BillingRules };

/** More purchases than one customer has: the App User ID is shared by many. */
const MAX_PURCHASES = 20;

/**
 * Gives an unlinked customer's purchases to an account, and those that the customer makes later: stores an event of type
 * SUBSCRIBER_ALIAS in the inbox, as the provider sends one if the app names the account, and applies it. Like every event
 * it counts in each later fold. Does nothing if the account has the purchases already.
 * @throws AppError validation_failed, not_found, assignment_conflict
 */
export async function assignPurchases(
  deps: Deps,
  operator: Operator,
  { accountId, isDryRun, reason, ...whose }: Assignment,
): Promise<AssignedPurchases> {
  const store = async (tx: Tx) => {
    await requireAccount(tx, accountId);
    const customer = await lockCustomer(tx, whose, accountId);
    const isAssigned = customer.purchases.every((purchase) => purchase.accountId === accountId);
    if (isDryRun || isAssigned) return { customer, event: null };
    const key = { provider: customer.provider, eventId: `assignment:${newId()}` };
    const alias = aliasOf([accountId, ...customer.appUserIds], deps.now());
    await storeEvent({ db: tx, dbNow: deps.dbNow }, { ...key, event: alias, payload: null, receivedAt: deps.now() });
    for (const { id } of customer.purchases) {
      // The account is in the event, and anonymous once the account is deleted. The audit trail is not.
      const details = { eventId: key.eventId, reason: reason ?? null };
      const audited = { type: "purchase_assigned", target: `purchase:${id}`, details } as const;
      await recordOperatorEvent(tx, deps.now(), operator, audited);
    }
    return { customer, event: key };
  };
  const { customer, event } = await withRetry(() => deps.db.$transaction(store));
  // If the process is killed here, the inbox retries the event.
  if (event) await applyEvent(deps, { ...event, accountIds: [accountId] });
  return { purchases: customer.purchases, appUserIds: customer.appUserIds, eventId: event?.eventId ?? null };
}

/** How many purchases an assignment gives to an account, of a customer with these App User IDs. */
export async function countPurchasesOf(
  { db }: Pick<Context, "db">,
  { provider, appUserIds }: Pick<StoredPurchase, "provider" | "appUserIds">,
): Promise<number> {
  const customer = await findConnectedCustomers(db, provider, appUserIds);
  return db.purchase.count({ where: { provider, appUserIds: { hasSome: customer.appUserIds } } });
}

async function requireAccount(tx: Tx, id: string): Promise<void> {
  const rows = await tx.$queryRaw<unknown[]>`SELECT 1 FROM "Account" WHERE id = ${id}::uuid FOR KEY SHARE`;
  if (rows.length > 0) return;
  const errors = [{ pointer: "/accountId", code: "unknown", detail: "There is no such account" }];
  throw new AppError("validation_failed", { errors });
}

/**
 * Locks the purchases of an unlinked customer, so that two operators cannot give them to two accounts. Returns them with all
 * App User IDs of the customer.
 * @throws AppError validation_failed, not_found, assignment_conflict
 */
async function lockCustomer(tx: Tx, whose: Pick<Assignment, "purchaseId" | "appUserId">, accountId: string) {
  const { provider, appUserIds: named } = await findAppUserIds(tx, whose);
  await lockPurchasesOf(tx, provider, named);
  const { appUserIds, hasSharedId } = await findConnectedCustomers(tx, provider, named);
  const purchases = await lockPurchasesOf(tx, provider, appUserIds);
  if (hasSharedId || purchases.length > MAX_PURCHASES)
    throw conflict("shared_id", "Many customers have this App User ID.");
  const others = possibleAccountIds(appUserIds).filter((id) => id !== accountId);
  const isLinked =
    purchases.some((purchase) => purchase.accountId !== null && purchase.accountId !== accountId) ||
    (await tx.account.count({ where: { id: { in: others } } })) > 0;
  if (isLinked) throw conflict("linked", "The customer has another account. Transfer the purchases at the provider.");
  return { provider, appUserIds: appUserIds.filter((id) => id !== accountId), purchases };
}

async function findAppUserIds(tx: Tx, { purchaseId, appUserId }: Pick<Assignment, "purchaseId" | "appUserId">) {
  if ((purchaseId === undefined) === (appUserId === undefined)) {
    const errors = [{ pointer: "/purchaseId", code: "one_of", detail: "Send either purchaseId or appUserId" }];
    throw new AppError("validation_failed", { errors });
  }
  const given = appUserId === undefined ? [] : normalizeAppUserIds([toStoredId(appUserId)]);
  const isNamed = { appUserIds: { hasSome: given }, provider: { not: HOMEPORT } };
  const where = purchaseId === undefined ? isNamed : { id: purchaseId };
  const purchase = await tx.purchase.findFirst({ where, select: { provider: true, appUserIds: true } });
  if (!purchase) throw new AppError("not_found", { detail: "There is no such purchase." });
  if (purchase.provider === HOMEPORT)
    throw conflict("grant", "A grant stays with its account. Grant the entitlement to the other one.");
  const appUserIds = purchaseId === undefined ? given : purchase.appUserIds;
  if (appUserIds.length === 0) throw conflict("no_customer", "No event of the purchase names a customer.");
  return { provider: purchase.provider, appUserIds };
}

async function lockPurchasesOf(tx: Tx, provider: string, appUserIds: string[]): Promise<StoredPurchase[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM "Purchase"
    WHERE provider IS NOT DISTINCT FROM ${provider} AND "appUserIds" && ${appUserIds}::text[]
    LIMIT ${MAX_PURCHASES + 1}::integer`;
  const ids = rows.map(({ id }) => id);
  return lockPurchases(tx, ids);
}

/** The event as no store sent it, and with no App User ID as the provider wrote it. */
function aliasOf(customers: string[], occurredAt: Date): ProviderEvent {
  return { ...buildAliasEvent({ customers, occurredAt, environment: null, store: null }), appUserId: null };
}

function conflict(reason: string, detail: string): AppError {
  return new AppError("assignment_conflict", { detail, fields: { reason } });
}
