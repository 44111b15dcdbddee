import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { readEmails } from "../../platform/find-account";
import { type PageQuery, readPage } from "../../platform/lists";
import { possibleAccountIds } from "../app-user-ids";
import { type BillingRules, readStatusRules } from "../entitlement-rules";
import { isPurchaseEvent, StoredEvent, toOwnerEvent, toPurchaseEvent } from "../events";
import { foldSteps } from "../fold/fold-purchase";
import { EMPTY_STATE } from "../fold/periods";
import { findConnectedCustomers, transfersOf } from "../inbox/customers";
import { ownerSteps, withAliases } from "../ownership";
import { PurchaseState } from "../purchase-state";
import { purchaseStatus } from "../status/purchase-status";
import type { TimelineStep } from "./schema";

/** A field of a purchase's state that an event changed, as JSON has it. */
type FieldChange = { field: string; before: unknown; after: unknown };

/** The fields in which two states differ. Before the first event, every field is null or false. */
function changesOf(before: PurchaseState | null, after: PurchaseState): FieldChange[] {
  return Object.keys(PurchaseState.shape).flatMap((name) => {
    const field = name as keyof PurchaseState;
    const [old, now] = [before?.[field] ?? null, after[field]];
    const isSame = JSON.stringify(old) === JSON.stringify(now) || (before === null && isEmpty(now));
    return field === "lastEventAt" || isSame ? [] : [{ field, before: old, after: now }];
  });
}

const isEmpty = (value: unknown) => value === null || value === false || (Array.isArray(value) && value.length === 0);

type Deps = Pick<Context, "db" | "now"> & { config: BillingRules };

/**
 * A purchase, and how its state and owner came about: its events as they are folded, newest first, with the state before
 * and after each. Computed by this version's rules. @throws AppError not_found, invalid_query
 */
export async function readPurchaseTimeline({ config, db, now }: Deps, purchaseId: string, page: PageQuery) {
  const history = await readHistory(db, purchaseId);
  if (!history) throw new AppError("not_found");
  const { purchase, steps, owners } = history;
  const rules = (await readStatusRules(db, { config, now }, [purchase]))(purchase.accountId ?? "");
  const { provider, store, environment } = purchase;
  const { entries, nextCursor } = await readPage(`purchase ${purchaseId}`, page, ({ after, take }) => {
    const newestFirst = steps.toReversed().map((step) => ({ id: step.event.id, step }));
    const start = after === null ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1;
    return newestFirst.slice(start, start + take);
  });
  const current = steps.at(-1)?.after ?? EMPTY_STATE;
  return {
    purchase,
    status: purchaseStatus(purchase, now(), rules),
    isCurrent: changesOf(purchase, current).length === 0,
    owners: owners.toReversed(),
    steps: entries.map(({ step }): TimelineStep => {
      const then = { ...step.after, id: purchaseId, provider, store, environment };
      return { ...step, status: purchaseStatus(then, step.event.occurredAt, rules).status };
    }),
    nextCursor,
  };
}

/**
 * A purchase with the events that fold to its state, and those that named or changed its owner, each in the order in which
 * they count; null if there is no such purchase. Leaves out events that cannot be read.
 */
export async function readHistory(db: Tx, id: string) {
  const purchase = await db.purchase.findUnique({ where: { id } });
  if (!purchase) return null;
  const rows = await db.billingEvent.findMany({ where: { purchaseId: id }, omit: { payload: true } });
  const events = rows.flatMap((row) => StoredEvent.safeParse(row).data ?? []);
  const appUserIds = [...new Set(events.flatMap((event) => event.appUserIds))];
  const { aliases, transfers } = await findConnectedCustomers(db, purchase.provider, appUserIds);
  const own = events.filter(isPurchaseEvent);
  const owners = ownerSteps([...own.map(toOwnerEvent), ...transfersOf(purchase, transfers)], aliases).map((step) => ({
    event: step.event,
    appUserIds: withAliases(step.appUserIds, aliases),
  }));
  const named = possibleAccountIds(owners.flatMap((owner) => owner.appUserIds));
  const emails = await readEmails({ db }, [purchase.accountId, ...named]);
  const types = new Map([...events, ...transfers].map(({ eventId, type }) => [eventId, type]));
  const byEventId = new Map(rows.map((row) => [row.eventId, row]));
  return {
    purchase: { ...purchase, accountEmail: emails.get(purchase.accountId ?? "") ?? null },
    steps: foldSteps(own.map(toPurchaseEvent)).flatMap(({ event, ...step }) => {
      const row = byEventId.get(event.id);
      return row ? [{ ...step, event: row, changes: changesOf(step.before, step.after) }] : [];
    }),
    owners: owners.map(({ event, appUserIds }) => {
      const accountId = possibleAccountIds(appUserIds).find((one) => emails.has(one)) ?? null;
      return {
        event: { eventId: event.id, occurredAt: event.occurredAt, type: types.get(event.id) ?? "TRANSFER" },
        appUserIds,
        accountId,
        accountEmail: emails.get(accountId ?? "") ?? null,
      };
    }),
  };
}
