import { readFactors } from "../../auth/second-factor/factors";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { type EventPosition, listSecurityEvents } from "../../platform/audit/list-events";
import { isUuid } from "../../platform/db/ids";
import { type PageQuery, readPage } from "../../platform/lists";
import { isStorableTime } from "../../platform/storable";
import { readStatusRules } from "../../subscriptions/entitlement-rules";
import { endReplacedPurchases } from "../../subscriptions/replacement";
import { purchaseStatus } from "../../subscriptions/status/purchase-status";
import { readStatus } from "../../subscriptions/status/read-status";
import { liveSessions } from "../sessions";
import { SUMMARY } from "./change-account";
import type { AccountDetails, AccountEvents, AccountPurchase } from "./schema";

type Deps = Pick<Context, "config" | "db" | "now">;

/** Of each purchase. */
const MAX_PURCHASE_EVENTS = 100;
const PURCHASE_EVENT = {
  id: true,
  eventId: true,
  type: true,
  state: true,
  reason: true,
  occurredAt: true,
  receivedAt: true,
} as const;

/** An account's purchases, latest first, each with its status and its newest events. */
async function listPurchases({ config, db, now }: Deps, accountId: string): Promise<AccountPurchase[]> {
  const at = now();
  const stored = await db.purchase.findMany({
    where: { accountId },
    include: {
      events: { select: PURCHASE_EVENT, orderBy: [{ occurredAt: "desc" }, { id: "desc" }], take: MAX_PURCHASE_EVENTS },
    },
    orderBy: { id: "desc" },
  });
  const rules = (await readStatusRules(db, { config, now }, stored))(accountId);
  const ended = endReplacedPurchases(stored);
  return stored.map((purchase, i) => ({ ...purchase, ...purchaseStatus(ended[i] ?? purchase, at, rules) }));
}

const MAX_EVENTS = 50;

/** Shows an account with what support needs, newest first, and without anything secret. @throws AppError not_found */
export async function showAccount(ctx: Deps, id: string): Promise<AccountDetails> {
  const found = await ctx.db.account.findUnique({
    where: { id },
    select: {
      ...SUMMARY,
      image: true,
      locale: true,
      externalId: true,
      sandboxUntil: true,
      updatedAt: true,
      passwordHash: true,
      invitation: { select: { createdAt: true, expiresAt: true } },
      identities: {
        select: { id: true, provider: true, subject: true, createdAt: true },
        orderBy: { createdAt: "asc" },
      },
      sessions: { where: liveSessions(id, ctx.now()), orderBy: [{ createdAt: "desc" }, { id: "desc" }] },
      devices: {
        include: { receipt: { select: { riskMetric: true, riskMetricAt: true } } },
        orderBy: [{ createdAt: "desc" }, { id: "desc" }],
      },
    },
  });
  if (found === null) throw new AppError("not_found");
  const { passwordHash, invitation, ...account } = found;
  const { status: subscription } = await readStatus(ctx, id); // links purchases that name the account
  return {
    ...account,
    hasPassword: passwordHash !== null,
    invitation: invitation && invitation.expiresAt > ctx.now() ? invitation : null,
    subscription,
    purchases: await listPurchases(ctx, id),
    factors: await readFactors(ctx, id),
    securityEvents: await listSecurityEvents(ctx, id, MAX_EVENTS),
  };
}

/**
 * A page of an account's security events, newest first.
 * @throws AppError not_found if there is neither the account nor an event of it; invalid_query
 */
export async function listAccountEvents(
  ctx: Pick<Context, "config" | "db">,
  accountId: string,
  page: PageQuery,
): Promise<AccountEvents> {
  const { entries, nextCursor } = await readPage(`events of ${accountId}`, page, async ({ after, take }) => {
    const events = await listSecurityEvents(ctx, accountId, take, toPosition(after));
    return events.map((event) => ({ id: `${event.at.toISOString()} ${event.id}`, event }));
  });
  if (entries.length === 0 && (await ctx.db.account.count({ where: { id: accountId } })) === 0) {
    throw new AppError("not_found");
  }
  return { events: entries.map(({ event }) => event), nextCursor };
}

function toPosition(cursor: string | null): EventPosition | undefined {
  const [time = "", id = ""] = cursor?.split(" ") ?? [];
  const at = new Date(time);
  return isStorableTime(at) && isUuid(id) ? { at, id } : undefined;
}
