import { createRegistrationOptions } from "@/lib/auth/passkeys/options";
import { PasskeyCreationOptions } from "@/lib/auth/passkeys/schema";
import { StepUpProof } from "@/lib/auth/step-up";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/passkeys/options", {
  POST: endpoint({
    summary: "Start to add a passkey",
    auth: "account",
    body: StepUpProof,
    isBodyOptional: true,
    limit: "passkeyOptionsByAccount",
    errors: ["reauthentication_required", "passkey_invalid", "rate_limited", "overloaded"],
    responses: { 200: PasskeyCreationOptions },
    handle: ({ ctx, principal, body, caller }) => createRegistrationOptions(ctx, principal, body, caller),
  }),
});
