import { z } from "zod";
import { operation } from "../../operation";
import { explainAccess } from "./explain-access";
import { AccessExplanation, AccessQuery } from "./schema";

const ACCOUNT_ID = "019aa5f0-9a51-7c09-8d3e-1b9e4f0a2c77";
const PURCHASE_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";

export const accessOperations = {
  explainAccess: operation({
    id: "explainAccess",
    summary: "Explain why an account has access or not",
    description:
      "Says whether an account has an entitlement, or any access at all, and why, in English: what it owns, what was received and when, what is missing, and what to do. Each reason has a stable `code`; new codes may be added. The answer uses the rules of the subscription status.",
    role: "support",
    scope: "billing:read",
    params: z.object({ accountId: z.uuid().toLowerCase() }),
    query: AccessQuery,
    errors: ["not_found"],
    response: {
      description: "The answer and its reasons.",
      schema: AccessExplanation,
      examples: {
        "A refund": {
          accountId: ACCOUNT_ID,
          email: "ann@example.com",
          entitlementId: "pro",
          hasAccess: false,
          text: "ann@example.com does not have “pro”.",
          reasons: [
            {
              code: "refunded",
              text: "com.example.pro.monthly (APP_STORE) was refunded on 2026-11-22 14:03 UTC. Access ended on 2026-11-22 14:03 UTC. Its last event: CANCELLATION of 2026-11-22 14:03 UTC, received on 2026-11-22 14:04 UTC.",
              purchaseId: PURCHASE_ID,
              eventId: null,
              accountId: null,
              actions: [
                {
                  text: "See how the purchase came to this state.",
                  path: `/console/billing/purchases/${PURCHASE_ID}`,
                  command: `homeport billing timeline ${PURCHASE_ID}`,
                  role: "support",
                },
              ],
            },
          ],
          appUserIds: [ACCOUNT_ID],
          lastEventAt: "2026-11-22T14:04:00.000Z",
          checkedAt: "2026-11-22T15:00:00.000Z",
        },
      },
    },
    run: ({ ctx, params, query }) => explainAccess(ctx, params.accountId, query),
  }),
};
