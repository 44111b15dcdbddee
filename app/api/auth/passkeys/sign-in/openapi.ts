import { SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import { ASSERTION } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "signInWithPasskey",
  description: `Signs in with an assertion over the options of \`POST /api/auth/passkeys/sign-in/options\`. The passkey names its account. It counts as two factors. ${TRANSPORT}`,
  requests: {
    "A native app": { passkey: ASSERTION, transport: "token", deviceName: "Ann's iPhone" },
    "A web app": { passkey: ASSERTION },
  },
  responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
};
