import { z } from "zod";
import { EventId, OptionalBoolean, OptionalNumber, OptionalText, optional } from "../fields";

/** JWSTransactionDecodedPayload. Times are in milliseconds since 1970. Other fields are not stored. */
const Transaction = z.object({
  transactionId: OptionalText,
  originalTransactionId: OptionalText,
  productId: OptionalText,
  type: OptionalText,
  purchaseDate: OptionalNumber,
  originalPurchaseDate: OptionalNumber,
  expiresDate: OptionalNumber,
  appAccountToken: OptionalText,
  inAppOwnershipType: OptionalText,
  offerType: OptionalNumber,
  offerDiscountType: OptionalText,
  revocationDate: OptionalNumber,
});
export type Transaction = z.infer<typeof Transaction>;

/** JWSRenewalInfoDecodedPayload. */
const RenewalInfo = z.object({
  autoRenewProductId: OptionalText,
  autoRenewStatus: OptionalNumber,
  expirationIntent: OptionalNumber,
  gracePeriodExpiresDate: OptionalNumber,
  isInBillingRetryPeriod: OptionalBoolean,
  renewalDate: OptionalNumber,
  appAccountToken: OptionalText,
});
export type RenewalInfo = z.infer<typeof RenewalInfo>;

/** responseBodyV2DecodedPayload, with its transaction and its renewal information decoded. */
export const AppStorePayload = z.object({
  notification: z.object({
    notificationUUID: EventId,
    notificationType: OptionalText,
    subtype: OptionalText,
    signedDate: OptionalNumber,
    data: optional(z.object({ environment: OptionalText, bundleId: OptionalText, status: OptionalNumber })),
  }),
  transaction: optional(Transaction),
  renewalInfo: optional(RenewalInfo),
});
export type AppStoreEvent = z.infer<typeof AppStorePayload>;
