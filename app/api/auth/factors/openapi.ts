import { PASSKEY } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listFactors",
  description: "With an authenticator app, each sign-in needs a second factor.",
  responses: {
    200: {
      description: "The factors. `null`: the account does not have this one.",
      examples: {
        "With an authenticator app": {
          totp: {
            id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
            createdAt: "2026-11-20T09:00:00.000Z",
            lastUsedAt: "2026-11-21T18:30:00.000Z",
          },
          recoveryCodes: { remaining: 9, createdAt: "2026-11-20T09:00:00.000Z" },
          passkeys: [PASSKEY],
        },
        "Without a second factor": { totp: null, recoveryCodes: null, passkeys: [] },
      },
    },
  },
};
