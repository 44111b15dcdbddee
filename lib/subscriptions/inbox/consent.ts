import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import type { Prisma } from "../../platform/db/generated/client";
import { sql } from "../../platform/db/sql";
import { perObject } from "../../platform/per-object";
import { type BillingRules, canEntitle, readStatusRules } from "../entitlement-rules";
import { CONSENT_WITHDRAWN } from "../events";
import type { DeliveryReceipt } from "../schema";
import type { Applied, ApplyDeps } from "./apply";
import { inTransaction, storeAndApply } from "./inbox";
import type { EventKey } from "./lock";
import { type NewEvent, SEVERAL_ACCOUNTS, storeEvent } from "./store";

/** The reason of a withdrawal that concerns no account yet. */
const ACCOUNT_UNKNOWN = "account_unknown";

type Deps = Parameters<Context["withdrawConsent"]>[0] &
  Pick<Context, "db" | "dbNow" | "withdrawConsent"> & { config: BillingRules };
type Outcome = { status: DeliveryReceipt["status"]; toReconcile: [] };
type StoredWithdrawal = {
  id: string;
  state: string;
  environment: string | null;
  appTransactionId: string | null;
  accountIds: string[];
  occurredAt: Date;
};

/** Stores and applies an event that a provider has sent. @throws the database's error if it is not available */
export async function receiveEvent(deps: Deps & ApplyDeps, newEvent: NewEvent): Promise<Applied> {
  const { event } = newEvent;
  const isWithdrawal = event.type === CONSENT_WITHDRAWN;
  const applied = isWithdrawal
    ? await applyWithdrawal(deps, newEvent, { newEvent })
    : await storeAndApply(deps, newEvent);
  // Of a purchase and a withdrawal at the same time, the later one to commit sees the other one.
  const appTransactionId = isWithdrawal ? event.transactionId : event.facts.appTransactionId;
  if (appTransactionId !== null) await applyMissedWithdrawals(deps, appTransactionId);
  return applied;
}

/**
 * Withdraws the consent to the accounts that an event concerns, once: those that it names, else those with a purchase by the
 * same download of the app. Stores the event with that, if it is `newEvent`. One that concerns no account is ignored until a
 * late event names it, or it is replayed. `also` runs in the transaction.
 * @throws AppError unavailable if the event is not stored; the database's error
 */
export function applyWithdrawal(
  deps: Deps,
  { provider, eventId }: EventKey,
  { newEvent, also }: { newEvent?: NewEvent; also?: ((tx: Tx, outcome: Outcome) => Promise<void>) | undefined } = {},
): Promise<Outcome> {
  return inTransaction(deps, async (tx) => {
    if (newEvent) await storeEvent({ ...deps, db: tx }, newEvent);
    const [event] = await tx.$queryRaw<StoredWithdrawal[]>`
      SELECT id::text, state::text, environment, "transactionId" AS "appTransactionId", "occurredAt",
        array_remove(ARRAY["accountId"::text], NULL) AS "accountIds"
      FROM "BillingEvent" WHERE provider = ${provider} AND "eventId" = ${eventId} FOR UPDATE`;
    if (!event) throw new AppError("unavailable");
    const outcome: Outcome = { status: await applyInTx(deps, tx, event, newEvent !== undefined), toReconcile: [] };
    await also?.(tx, outcome);
    return outcome;
  });
}

async function applyInTx(deps: Deps, tx: Tx, event: StoredWithdrawal, isDelivery: boolean): Promise<Outcome["status"]> {
  if (event.state === "processed") return isDelivery ? "duplicate" : "processed";
  const found = await findAccounts(tx, event);
  const environment = event.environment ?? "UNKNOWN";
  const rulesOf = await readStatusRules(
    tx,
    deps,
    found.map((accountId) => ({ accountId, environment })),
  );
  const [accountId, ...others] = found.filter((id) => canEntitle({ environment }, rulesOf(id)));
  const data = { nextAttemptAt: null, accountId: accountId ?? null };
  if (accountId === undefined) {
    const reason = found.length > 0 ? "sandbox" : ACCOUNT_UNKNOWN;
    await tx.billingEvent.update({ where: { id: event.id }, data: { ...data, state: "ignored", reason } });
    return "ignored";
  }
  await deps.withdrawConsent(deps, tx, [accountId, ...others], event.occurredAt);
  const reason = others.length > 0 ? SEVERAL_ACCOUNTS : null;
  const processed = { ...data, state: "processed", reason, processedAt: deps.now() } as const;
  await tx.billingEvent.update({ where: { id: event.id }, data: processed });
  return "processed";
}

/** The accounts that the event names; else, as the App Store names none, those with a purchase by the same Apple Account. */
async function findAccounts(tx: Tx, { accountIds, appTransactionId, environment }: StoredWithdrawal) {
  if (accountIds.length > 0 || appTransactionId === null) return accountIds;
  const rows = await tx.$queryRaw<{ accountId: string }[]>`
    SELECT DISTINCT "accountId"::text FROM "Purchase"
    WHERE "appTransactionId" = ${appTransactionId} AND environment = ${environment} AND "accountId" IS NOT NULL
    ORDER BY 1`;
  return rows.map(({ accountId }) => accountId);
}

/**
 * Applies the withdrawals that were ignored because the account was not known: an event of a purchase from before them, which
 * arrives late, says whose app it is.
 */
async function applyMissedWithdrawals(deps: Deps, appTransactionId: string): Promise<void> {
  const missed = await findMissed(deps, sql`event."transactionId" = ${appTransactionId}`);
  for (const event of missed) await applyWithdrawal(deps, event);
}

/** Finds the ignored withdrawals, among the events that match a condition, that concern the owner of a purchase by now. */
function findMissed({ db }: Pick<Deps, "db">, isSearched: Prisma.Sql): Promise<EventKey[]> {
  return db.$queryRaw`
    SELECT DISTINCT event.provider, event."eventId" FROM "BillingEvent" AS event
    JOIN "Purchase" AS purchase
      ON purchase."appTransactionId" = event."transactionId" AND purchase.environment = event.environment
    WHERE ${isSearched} AND event.type = ${CONSENT_WITHDRAWN} AND event.state = 'ignored'
      AND purchase."accountId" IS NOT NULL AND purchase."startedAt" <= event."occurredAt"`;
}

/** The ignored events that one search reads. */
const MAX_SEARCHED = 10_000;
/** Up to which time of receipt this process has searched the ignored events. */
const positionOf = perObject((_db: Deps["db"]) => ({ receivedAt: new Date(0) }));

/**
 * Applies the withdrawals that `receiveEvent` could not: their purchases were imported, reconciled or assigned, or the process
 * was killed between the two. Searches the next `MAX_SEARCHED` ignored events, and begins again after the last. One that the
 * sandbox ignores is left to the next event of its purchase.
 */
export async function retryWithdrawals(deps: Deps & Pick<Context, "isDraining" | "log">): Promise<void> {
  const position = positionOf(deps.db);
  const after = position.receivedAt;
  const last = await deps.db.billingEvent.findFirst({
    where: { state: "ignored", receivedAt: { gt: after } },
    orderBy: { receivedAt: "asc" },
    skip: MAX_SEARCHED - 1,
    select: { receivedAt: true },
  });
  position.receivedAt = last?.receivedAt ?? new Date(0);
  const until = last ? sql`event."receivedAt" <= ${last.receivedAt}::timestamptz` : sql`true`;
  const isSearched = sql`event."receivedAt" > ${after}::timestamptz AND ${until} AND event.reason = ${ACCOUNT_UNKNOWN}`;
  for (const event of await findMissed(deps, isSearched)) {
    if (deps.isDraining) return;
    try {
      await applyWithdrawal(deps, event);
    } catch (error) {
      deps.log.warn({ err: error, eventId: event.eventId }, "a withdrawn consent was not applied: it will be retried");
    }
  }
}
