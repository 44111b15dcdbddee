import { PASSKEY } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const PATCH: OperationDetails = {
  operationId: "renamePasskey",
  description: "Renames a passkey of the caller. The passkey of another account returns 404, as an unknown one does.",
  requests: { "A name": { name: "Ann's iPhone" } },
  responses: { 200: { description: "The passkey was renamed.", examples: { "The passkey": PASSKEY } } },
};

export const DELETE: OperationDetails = {
  operationId: "removePasskey",
  description:
    "Removes a passkey of the caller, and signs out the account's other sessions. Requires a recent sign-in. The account's only way to sign in cannot be removed. The owner gets an email. Afterwards, `PublicKeyCredential.signalUnknownCredential` removes the passkey from the device.",
  responses: { 204: { description: "The passkey was removed." } },
};
