import { STEP_UP_OPTIONS } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "createPasskeySecondFactorOptions",
  description:
    "Returns the options for an assertion by one of the account's passkeys, to complete a sign-in that responded `second_factor_required`. The challenge of the sign-in stays open. An account without a passkey returns 404.",
  requests: {
    "An app": { challenge: "0dXJpc3RzIG9mIHRoZSB3b3JsZCwgdW5pdGUgbm93IQ" },
    "A browser, which has the challenge in a cookie": {},
  },
  responses: {
    200: {
      description: "The options.",
      examples: { "The options": { ...STEP_UP_OPTIONS, userVerification: "preferred" } },
    },
  },
};
