import { CREDENTIALS, SIGNED_IN, TRANSPORT } from "@/app/api/auth/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "logIn",
  description: `${TRANSPORT} After several wrong passwords for an address, each further try has to wait; those of strangers do not hold a client that the account has signed in from, and a reset lets the owner in at once.`,
  requests: {
    "A native app": { ...CREDENTIALS, transport: "token", deviceName: "Ann's iPhone" },
    "A web app": CREDENTIALS,
  },
  responses: { 200: { description: "Signed in.", headers: ["Set-Cookie"], examples: SIGNED_IN } },
};
