import type { z } from "zod";
import type { Context } from "../../context";
import { idOr, MAX_ID } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { AccountName, toAccountId, withEmails } from "../../platform/find-account";
import { PageQuery, readPage } from "../../platform/lists";
import { activeSubscriptionCondition } from "../../platform/statistics";
import type { StoredPurchase } from "../purchase-state";

type Found = Pick<StoredPurchase, "id" | "productId" | "store" | "accountId" | "startedAt" | "currentPeriodEndsAt">;
export type ListedSubscription = Found & { accountEmail: string | null };

export const SubscriptionsQuery = PageQuery.extend({ account: AccountName.optional() });
export type SubscriptionsQuery = z.infer<typeof SubscriptionsQuery>;

/** The purchases that one request searches. */
const MAX_SEARCHED = 10_000;

/**
 * A page of the subscriptions that are active now, newest first: those that the overview counts. Searches 10,000 purchases
 * at most, so a page may have fewer entries than `limit` although others follow.
 * @throws AppError invalid_query, not_found if no account has the email
 */
export async function listActiveSubscriptions({ db, now }: Pick<Context, "db" | "now">, query: SubscriptionsQuery) {
  const account = await toAccountId({ db }, query.account);
  const isOwned = account === undefined ? sql`true` : sql`"accountId" = ${account}::uuid`;
  const { entries, nextCursor } = await readPage("active-subscriptions", query, async ({ after, take }) => {
    const searched = sql`
      SELECT * FROM "Purchase" WHERE "id" < ${idOr(MAX_ID, after)}::uuid AND ${isOwned} ORDER BY "id" DESC LIMIT ${MAX_SEARCHED}::integer`;
    const found = await db.$queryRaw<Found[]>`
      SELECT one."id"::text, one."productId", one."store", one."accountId"::text, one."startedAt", one."currentPeriodEndsAt"
      FROM (${searched}) AS one WHERE ${activeSubscriptionCondition(now())} ORDER BY one."id" DESC LIMIT ${take}::integer`;
    if (found.length === take) return { entries: found };
    const [end] = await db.$queryRaw<{ id: string }[]>`
      SELECT one."id"::text FROM (${searched}) AS one ORDER BY one."id" DESC OFFSET ${MAX_SEARCHED - 1}::integer LIMIT 1`;
    return { entries: found, searchedTo: end?.id ?? null };
  });
  return { subscriptions: await withEmails({ db }, entries), nextCursor };
}
