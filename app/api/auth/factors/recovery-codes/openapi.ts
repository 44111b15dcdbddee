import { CREDENTIALS, RECOVERY_CODES } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "renewRecoveryCodes",
  description:
    "Requires a sign-in with a second factor within the last ten minutes, or a proof in the body. The old codes stop working. Emails the owner.",
  requests: { "After a recent sign-in": {}, "With a proof": { password: CREDENTIALS.password, code: "492039" } },
  responses: {
    200: {
      description: "The new codes, which are shown this once.",
      examples: { "Ten codes": { recoveryCodes: RECOVERY_CODES } },
    },
  },
};
