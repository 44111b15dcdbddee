import { operation } from "../../operation";
import { importPurchases } from "./import-purchases";
import { ImportedPurchases, ImportRecord, MAX_IMPORT_BYTES, PurchaseImportQuery } from "./schema";

const RECORD = {
  transactionId: "GPA.3345-1234-5678-90123",
  store: "PLAY_STORE",
  customer: "usr_8f14e45f",
  productId: "pro:monthly",
  entitlementIds: ["pro"],
  purchasedAt: "2026-11-20T09:00:00Z",
  expiresAt: "2026-12-20T09:00:00Z",
  asOf: "2026-11-28T08:00:00Z",
};

export const purchaseImportOperations = {
  importPurchases: operation({
    id: "importPurchases",
    summary: "Import purchases",
    description:
      "Reads what a provider knows of the next customers, and stores each purchase that is not stored, or differs, as an event of type `IMPORT`. Newer events win, whenever they arrive. Send `nextCursor` as `cursor`, with the same body, until it and `retry` are null, after `retry.afterSeconds`. `stripe` and `paddle` list all subscriptions. `revenuecat` asks about all accounts, by their ids and those that an import gave them, or about the customers of the body. The body of `app-store` names transactions, and that of `csv` has purchases: one JSON value a line, at most 500. Sends no notification. Repeating the request changes nothing.",
    role: "admin",
    scope: "billing:write",
    stepUp: true,
    bodyFormat: "raw",
    maxBodyBytes: MAX_IMPORT_BYTES,
    query: PurchaseImportQuery,
    errors: ["validation_failed", "billing_api_not_configured", "billing_api_failed"],
    requestBody: {
      content: {
        "application/x-ndjson": {
          schema: ImportRecord,
          examples: {
            "A purchase, for csv": RECORD,
            "A transaction, for app-store": { transactionId: "2000000512345678" },
            "A customer, for revenuecat": { appUserId: "usr_8f14e45f" },
          },
        },
      },
    },
    response: {
      description: "What happened to each purchase.",
      schema: ImportedPurchases,
      examples: {
        "A purchase that nobody has": {
          results: [
            {
              line: null,
              status: "created",
              id: "sub_1MowQVLkdIwHu7ixeRlqHVzs",
              customer: "cus_Na6dX7aXxi11N4",
              store: "STRIPE",
              productId: "prod_NWjs8kKbJWmuuc",
              accountId: null,
              differences: [],
              failure: null,
            },
          ],
          retry: null,
          nextCursor: null,
        },
      },
    },
    run: ({ ctx, operator, bytes, query }) => importPurchases(ctx, operator, bytes, query),
  }),
};
