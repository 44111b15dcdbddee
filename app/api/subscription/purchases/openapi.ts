import { PURCHASE_ID } from "@/app/api/subscription/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPurchases",
  description:
    "Lists all purchases of the account, newest first: subscriptions, and one-time purchases with or without entitlements, which have no `periodType`. A purchase and its renewals are one entry. One that gives no entitlement, such as coins, has the status `none`, or `revoked` after a refund.",
  responses: {
    200: {
      description: "A page of purchases.",
      examples: {
        Coins: {
          purchases: [
            {
              purchaseId: PURCHASE_ID,
              originalTransactionId: "2000000123456790",
              status: "none",
              isActive: false,
              willRenew: false,
              isLifetime: false,
              isFamilyShare: false,
              stale: false,
              entitlements: [],
              productId: "com.example.coins.100",
              pendingProductId: null,
              changesTo: null,
              store: "APP_STORE",
              periodType: null,
              environment: "PRODUCTION",
              startedAt: "2026-11-20T09:00:00.000Z",
              currentPeriodStartsAt: "2026-11-20T09:00:00.000Z",
              currentPeriodEndsAt: null,
              accessEndsAt: null,
              gracePeriodEndsAt: null,
              canceledAt: null,
              cancelReason: null,
              expirationReason: null,
              billingIssueDetectedAt: null,
              refundedAt: null,
              resumesAt: null,
              managementUrl: "https://apps.apple.com/account/subscriptions",
            },
          ],
          nextCursor: null,
        },
      },
    },
  },
};
