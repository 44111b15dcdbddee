import { CREDENTIALS } from "@/app/api/auth/openapi-examples";
import { ASSERTION } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "reauthenticate",
  description:
    "Authenticates the user of the session again. For the next ten minutes, the session may delete or export the account, change how it signs in, and do whatever else requires a recent authentication. Wrong passwords are limited as in a sign-in. An account without a password and a passkey signs in again instead.",
  requests: { "With a password": { password: CREDENTIALS.password }, "With a passkey": { passkey: ASSERTION } },
  responses: {
    200: {
      description: "The session is authenticated as of now.",
      examples: {
        "With a password": { authenticatedAt: "2026-11-20T09:30:00.000Z", aal: 1, amr: ["pwd"] },
        "With a passkey": { authenticatedAt: "2026-11-20T09:30:00.000Z", aal: 2, amr: ["pwd", "swk", "user", "mfa"] },
      },
    },
  },
};
