import { CREATION_OPTIONS } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "createPasskeyOptions",
  description:
    "Returns the options for `navigator.credentials.create` (Web Authentication Level 3, `PublicKeyCredentialCreationOptionsJSON`). Requires a recent sign-in, or a proof in the body.",
  requests: { "After a recent sign-in": {}, "With the password": { password: "correct horse battery staple" } },
  responses: { 200: { description: "The options.", examples: { "The options": CREATION_OPTIONS } } },
};
