import { z } from "zod";
import { appStore, verifyStatus } from "../providers/app-store";
import {
  type Api,
  asDelivery,
  type FoundPurchase,
  parseResponse,
  type Source,
  type SourceDeps,
  type StateType,
} from "./source";

export const APPLE: Api = { name: "Apple", setting: "BILLING_APP_STORE_API_KEY" };

const Statuses = z.object({
  data: z.array(
    z.object({
      lastTransactions: z.array(
        z.object({ status: z.int(), signedTransactionInfo: z.string(), signedRenewalInfo: z.string() }),
      ),
    }),
  ),
});

type Signed = NonNullable<Awaited<ReturnType<typeof verifyStatus>>>;

/** The newest transaction of each subscription in the response "Get All Subscription Statuses", verified. */
export async function readStatuses({ config }: Pick<SourceDeps, "config">, response: unknown): Promise<Signed[]> {
  const { data } = parseResponse(APPLE, Statuses, response);
  const statuses: Signed[] = [];
  for (const { status, signedTransactionInfo, signedRenewalInfo } of data.flatMap((group) => group.lastTransactions)) {
    const parts = { transaction: signedTransactionInfo, renewal: signedRenewalInfo };
    const signed = await verifyStatus(config, status, parts);
    if (!signed) throw new Error("the response is not signed by Apple for one of BILLING_APP_STORE_APPS");
    statuses.push(signed);
  }
  return statuses;
}

/** `customer`: whose account the transaction is, if the app has not said so. */
export function appStorePurchase(
  deps: Pick<SourceDeps, "config">,
  signed: Signed,
  requestedAt: Date,
  notificationType: StateType,
  customer?: string,
): FoundPurchase {
  const token = signed.transaction.appAccountToken ?? signed.renewalInfo.appAccountToken ?? customer;
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
  intervalMs: 20,
  readPurchases: async () => [],
};
