import { ACCOUNT } from "@/app/api/admin/accounts/openapi-examples";
import { PREFERENCES } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "exportAccountAsOperator",
  description:
    "Returns everything stored about the account as a file, as its owner gets it: without password hashes, tokens and complete device tokens. The export is recorded in the audit trail.",
  responses: {
    200: {
      description: "The account's data.",
      headers: ["Content-Disposition"],
      examples: {
        "A new account": {
          schema: "account-export",
          schemaVersion: 1,
          exportedAt: "2026-11-22T14:03:00.000Z",
          account: {
            id: ACCOUNT.id,
            email: ACCOUNT.email,
            name: ACCOUNT.name,
            image: null,
            emailVerified: true,
            createdAt: ACCOUNT.createdAt,
            role: "user",
            locale: "en",
            updatedAt: ACCOUNT.createdAt,
          },
          identities: [],
          emailChanges: [],
          sessions: [],
          factors: { totp: null, recoveryCodes: null, passkeys: [] },
          devices: [],
          notificationPreferences: PREFERENCES,
          subscriptions: [],
          billingEvents: [],
          securityEvents: [],
        },
      },
    },
  },
};

export const HEAD: OperationDetails = {
  operationId: "headExportAccountAsOperator",
  description: "Returns the status and headers of GET without an export.",
  responses: { 200: { description: "The headers of the export.", headers: ["Content-Disposition"] } },
};
