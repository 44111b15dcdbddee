import { CREDENTIALS, SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "logIn",
  description: `${TRANSPORT} After several wrong passwords for an email, each further attempt must wait. Attempts by strangers do not block a client that has signed in to the account before. A password reset ends the wait.`,
  requests: {
    "A native app": { ...CREDENTIALS, transport: "token", deviceName: "Ann's iPhone" },
    "A web app": CREDENTIALS,
  },
  responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
};
