import { RECOVERY_CODES } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "confirmTotp",
  description:
    "Only the session that started the enrollment can confirm it. It then counts as signed in with two factors. Emails the owner.",
  requests: { "The code that the app shows": { id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10", code: "492039" } },
  responses: {
    200: {
      description: "From now on, each sign-in needs a second factor. The recovery codes are shown this once.",
      examples: { "The recovery codes": { createdAt: "2026-11-20T09:02:00.000Z", recoveryCodes: RECOVERY_CODES } },
    },
  },
};
