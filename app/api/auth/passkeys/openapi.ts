import { PASSKEY, REGISTRATION } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "listPasskeys",
  description: "Lists passkeys, oldest first.",
  responses: {
    200: {
      description: "The account's passkeys.",
      examples: { "One passkey": { passkeys: [PASSKEY] }, "No passkeys": { passkeys: [] } },
    },
  },
};

export const POST: OperationDetails = {
  operationId: "addPasskey",
  description:
    "Adds the passkey that the browser or the system has created from the options of `POST /api/auth/passkeys/options`. Attestation is neither required nor checked. The owner gets an email.",
  requests: { "A passkey with a name": { passkey: REGISTRATION, name: "Ann's iPhone" } },
  responses: { 201: { description: "The passkey was added.", examples: { "The passkey": PASSKEY } } },
};
