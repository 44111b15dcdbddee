import { SIGNED_IN } from "@/app/api/auth/openapi-examples";
import { ASSERTION } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

const challenge = "0dXJpc3RzIG9mIHRoZSB3b3JsZCwgdW5pdGUgbm93IQ";

export const POST: OperationDetails = {
  operationId: "completeLogIn",
  description:
    "Completes a sign-in that responded `second_factor_required`. Returns the session in the form that the sign-in requested. A code works once; after several wrong ones, each further attempt must wait. Codes of the app and recovery codes are counted separately, so that one works while the other waits.",
  requests: {
    "With an authenticator app": { challenge, code: "492039" },
    "With a recovery code": { challenge, recoveryCode: "7K3M9Q-WX2B4N-0R5T8V-C1D6FG" },
    "With a passkey": { challenge, passkey: ASSERTION },
    "In a browser, which has the challenge in a cookie": { code: "492039" },
  },
  responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
};
