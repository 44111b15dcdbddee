import { STEP_UP_OPTIONS } from "@/app/api/auth/passkeys/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const POST: OperationDetails = {
  operationId: "createPasskeyStepUpOptions",
  description:
    "Returns the options for an assertion by one of the caller's passkeys, as the proof of a recent authentication. An account without a passkey returns 404.",
  responses: { 200: { description: "The options.", examples: { "The options": STEP_UP_OPTIONS } } },
};
