import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "reconcilePurchases",
  description:
    "Asks the billing provider's API about an account, or about the next customers of all, and corrects the purchases that differ. Send `nextCursor` as `cursor` until it is null, after `retry.afterSeconds`. A failed customer does not stop the others. It can be interrupted and repeated.",
  requests: { "One account": { accountId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11" }, "All customers": {} },
  responses: {
    200: {
      description: "The outcomes for the customers.",
      examples: {
        Corrected: {
          customers: [{ appUserId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11", known: 2, corrected: 1, failure: null }],
          retry: null,
          progress: 1,
          nextCursor: null,
        },
      },
    },
  },
};
