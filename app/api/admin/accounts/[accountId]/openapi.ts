import { ACCOUNT, EVENT } from "@/app/api/admin/accounts/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

const TIMES = {
  createdAt: "2026-11-20T09:00:00.000Z",
  lastSeenAt: "2026-11-22T08:00:00.000Z",
};

export const GET: OperationDetails = {
  operationId: "showAccount",
  description:
    "Shows an account with its live sessions, devices, purchases with their events, factors and newest security events. Nothing in it is secret.",
  responses: {
    200: {
      description: "The account.",
      examples: {
        "An account with one session": {
          ...ACCOUNT,
          image: null,
          locale: "en",
          updatedAt: "2026-11-20T09:05:00.000Z",
          hasPassword: true,
          identities: [],
          sessions: [
            {
              id: "019aa5f1-2b3c-7d4e-8f50-6a7b8c9d0e1f",
              transport: "cookie",
              userAgent: "Mozilla/5.0",
              deviceName: null,
              ...TIMES,
              authenticatedAt: "2026-11-20T09:00:00.000Z",
              aal: 1,
              amr: ["pwd"],
              idleExpiresAt: "2026-11-29T08:00:00.000Z",
              expiresAt: "2026-12-20T09:00:00.000Z",
            },
          ],
          devices: [],
          subscription: { status: "none", isActive: false, productId: null, store: null, accessEndsAt: null },
          purchases: [],
          factors: { totp: null, recoveryCodes: null, passkeys: [] },
          securityEvents: [EVENT],
        },
      },
    },
  },
};

export const DELETE: OperationDetails = {
  operationId: "deleteAccountAsOperator",
  description:
    "Deletes an account with all its data, and sends an email to its owner. Its billing history stays without personal data. Only the owner can cancel the subscriptions of a store. The last admin cannot be deleted.",
  responses: {
    200: {
      description: "The account is deleted.",
      examples: {
        Deleted: {
          status: "deleted",
          id: ACCOUNT.id,
          email: ACCOUNT.email,
          subscriptions: [],
          storeSubscriptionsCancelled: false,
        },
      },
    },
  },
};
