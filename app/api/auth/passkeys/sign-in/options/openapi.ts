import { SIGN_IN_OPTIONS } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "createPasskeySignInOptions",
  description:
    "Returns the options for `navigator.credentials.get` (Web Authentication Level 3, `PublicKeyCredentialRequestOptionsJSON`), with or without conditional mediation. Any passkey of this service can respond.",
  responses: { 200: { description: "The options.", examples: { "The options": SIGN_IN_OPTIONS } } },
};
