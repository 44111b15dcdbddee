import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { readEmails } from "../../platform/find-account";
import { EventFacts } from "../events";
import { readHistory } from "./purchase-timeline";
import type { BillingEventDetails } from "./schema";

type Deps = Pick<Context, "db">;

/** The maximum number of a transfer's purchases that are checked. */
const MAX_MOVED = 20;

/** An event with its payload, what was read from it, its purchase and what it changed. @throws AppError not_found */
export async function showBillingEvent({ db }: Deps, id: string): Promise<BillingEventDetails> {
  const row = await db.billingEvent.findUnique({ where: { id }, include: { purchase: true } });
  if (!row) throw new AppError("not_found");
  const { purchase, purchaseId } = row;
  const moved = row.transferredFrom.length > 0 ? await findMoved(db, row.appUserIds) : [];
  const accountId = row.accountId ?? purchase?.accountId ?? null;
  const emails = await readEmails({ db }, [accountId, purchase?.accountId ?? null]);
  const emailOf = (id: string | null | undefined) => emails.get(id ?? "") ?? null;
  const changes = [];
  for (const one of purchaseId ? [purchaseId] : moved) changes.push(...(await changesIn(db, one, row.eventId)));
  return {
    ...row,
    accountId,
    accountEmail: emailOf(accountId),
    purchase: purchase && { ...purchase, accountEmail: emailOf(purchase.accountId) },
    facts: EventFacts.safeParse(row.facts).data ?? null,
    nextAttemptAt: row.state === "received" || row.state === "failed" ? row.nextAttemptAt : null,
    changes,
  };
}

/** The purchases that name a transfer's customers. MATERIALIZED: the order and the limit could choose a scan by id. */
async function findMoved(db: Tx, appUserIds: string[]): Promise<string[]> {
  const rows = await db.$queryRaw<{ id: string }[]>`
    WITH moved AS MATERIALIZED (SELECT id FROM "Purchase" WHERE "appUserIds" && ${appUserIds}::text[])
    SELECT id::text FROM moved ORDER BY moved.id LIMIT ${MAX_MOVED}::integer`;
  return rows.map(({ id }) => id);
}

/** What an event changed of a purchase: its state, and its owner's account. */
async function changesIn(db: Tx, purchaseId: string, eventId: string): Promise<BillingEventDetails["changes"]> {
  const history = await readHistory(db, purchaseId);
  if (!history) return [];
  const step = history.steps.find(({ event }) => event.eventId === eventId);
  const index = history.owners.findIndex(({ event }) => event.eventId === eventId);
  const [before, after] = [history.owners[index - 1]?.accountId ?? null, history.owners[index]?.accountId ?? null];
  const isMoved = index >= 0 && before !== after;
  const changes = [...(step?.changes ?? []), ...(isMoved ? [{ field: "accountId", before, after }] : [])];
  return changes.map((change) => ({ purchaseId, ...change }));
}
