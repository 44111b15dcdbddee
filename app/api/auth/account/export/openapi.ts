import { SESSION, USER } from "@/app/api/auth/openapi-examples";
import { PREFERENCES } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "exportAccount",
  description:
    "Requires an authentication within the last ten minutes: call `POST /api/auth/reauthenticate` first. Returns everything stored about the account as a file, without password hashes, tokens and complete device tokens. `isRevokedOnDeletion` marks an identity whose provider is asked to end the app's access when the account is deleted.",
  responses: {
    200: {
      description: "The account's data.",
      headers: ["Content-Disposition"],
      examples: {
        "A new account": {
          schema: "account-export",
          schemaVersion: 1,
          exportedAt: "2026-11-20T09:30:00.000Z",
          account: { ...USER, role: "user", locale: "en", updatedAt: USER.createdAt },
          identities: [],
          emailChanges: [],
          sessions: [{ id: SESSION.id, transport: "token", createdAt: USER.createdAt, expiresAt: SESSION.expiresAt }],
          factors: { totp: null, recoveryCodes: null, passkeys: [] },
          devices: [],
          notificationPreferences: PREFERENCES,
          subscriptions: [],
          billingEvents: [],
          securityEvents: [{ type: "registered", at: USER.createdAt, actor: "account" }],
        },
      },
    },
  },
};
