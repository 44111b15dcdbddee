import { z } from "zod";
import { appStore, verifyNotification, verifyStatus } from "../providers/app-store";
import {
  type Api,
  asDelivery,
  type FoundPurchase,
  parseResponse,
  type Source,
  type SourceDeps,
  type StateType,
  toNewEvent,
} from "./source";

export const APPLE: Api = { name: "Apple", setting: "BILLING_APP_STORE_KEY" };

const Statuses = z.object({
  data: z.array(
    z.object({
      lastTransactions: z.array(
        z.object({ status: z.int(), signedTransactionInfo: z.string(), signedRenewalInfo: z.string() }),
      ),
    }),
  ),
});

const TransactionInfo = z.object({ signedTransactionInfo: z.string() });
const History = z.object({
  notificationHistory: z.array(z.object({ signedPayload: z.string() })).default([]),
  hasMore: z.boolean().default(false),
  paginationToken: z.string().nullish(),
});
const Position = z.object({ app: z.int(), token: z.string().nullish() });

type Signed = NonNullable<Awaited<ReturnType<typeof verifyStatus>>>;

/** The newest transaction of each subscription in the response "Get All Subscription Statuses", verified. */
export async function readStatuses({ config }: Pick<SourceDeps, "config">, response: unknown): Promise<Signed[]> {
  const { data } = parseResponse(APPLE, Statuses, response);
  const statuses: Signed[] = [];
  for (const { status, signedTransactionInfo, signedRenewalInfo } of data.flatMap((group) => group.lastTransactions)) {
    statuses.push(await verified(config, status, { transaction: signedTransactionInfo, renewal: signedRenewalInfo }));
  }
  return statuses;
}

async function verified(...given: Parameters<typeof verifyStatus>): Promise<Signed> {
  const signed = await verifyStatus(...given);
  if (!signed) throw new Error("the response is not signed by Apple for one of BILLING_APP_STORE_APPS");
  return signed;
}

/** `customer`: whose account the transaction is, if the app has not said so. */
export function appStorePurchase(
  deps: Pick<SourceDeps, "config">,
  signed: Signed,
  requestedAt: Date,
  notificationType: StateType,
  customer?: string,
): FoundPurchase {
  const token = signed.transaction.appAccountToken ?? signed.renewalInfo?.appAccountToken ?? customer;
  const toEvent = asDelivery(appStore, deps, requestedAt, (notificationUUID) => ({
    ...signed,
    notification: { ...signed.notification, notificationType, notificationUUID },
    transaction: { ...signed.transaction, appAccountToken: token },
  }));
  return { provider: appStore.name, email: null, toEvent };
}

export const appStoreSource: Source = {
  provider: appStore.name,
  api: APPLE,
  isOpen: ({ billing }) => billing.appStore !== null,
  intervalMs: 20, // 50 requests a second ("Identifying rate limits")
  eventDays: 180,
  readPurchases: async (deps, reference, requestedAt) => {
    const { appStore: api } = deps.billing;
    const response = await api?.getStatuses(reference);
    if (response == null) return [];
    const statuses = await readStatuses(deps, response);
    const own = statuses.find(({ transaction }) => transaction.originalTransactionId === reference);
    const signed = own ?? (await readOneTime(deps, reference));
    return signed ? [appStorePurchase(deps, signed, requestedAt, "SNAPSHOT")] : [];
  },
  readEvents: async (deps, { from, until, position }, requestedAt) => {
    const { billing, config } = deps;
    const at = position === null ? { app: 0 } : Position.parse(JSON.parse(position));
    const app = config.BILLING_APP_STORE_APPS[at.app];
    if (!billing.appStore || !app) return { events: [], next: null };
    const span = { startDate: from.getTime(), endDate: until.getTime() };
    const response = await billing.appStore.getNotifications(app.bundleId, span, at.token);
    const { notificationHistory, hasMore, paginationToken } = parseResponse(APPLE, History, response);
    const events = [];
    for (const { signedPayload } of notificationHistory) {
      const delivery = await verifyNotification(config, signedPayload);
      // The webhook would refuse it, too.
      if (!delivery || delivery.notification.notificationType === "TEST") continue;
      const eventId = delivery.notification.notificationUUID ?? "";
      events.push(toNewEvent(appStore, deps, requestedAt, eventId, delivery));
    }
    const next = hasMore && paginationToken ? { ...at, token: paginationToken } : { app: at.app + 1 };
    return { events, next: config.BILLING_APP_STORE_APPS[next.app] ? JSON.stringify(next) : null };
  },
};

/** A purchase that is no subscription, which the statuses leave out ("Get Transaction Info"); null if no app has it. */
async function readOneTime({ billing, config }: SourceDeps, transactionId: string): Promise<Signed | null> {
  const response = await billing.appStore?.getTransaction(transactionId);
  if (response == null) return null;
  const { signedTransactionInfo } = parseResponse(APPLE, TransactionInfo, response);
  const signed = await verified(config, null, { transaction: signedTransactionInfo });
  return signed.transaction.type === "Auto-Renewable Subscription" ? null : signed;
}
