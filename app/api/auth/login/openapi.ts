import { CREDENTIALS, SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "logIn",
  description: `${TRANSPORT} After several wrong passwords for an email, each further attempt must wait. Attempts by strangers do not block a client that has signed in to the account before. A password reset ends the wait. For an account with a second factor, the response is 401 second_factor_required with a challenge, which \`POST /api/auth/login/factor\` completes.`,
  requests: {
    "A native app": { ...CREDENTIALS, transport: "token", deviceName: "Ann's iPhone" },
    "A web app": CREDENTIALS,
  },
  responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
};
