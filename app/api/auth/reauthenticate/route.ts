import { Reauthenticated, reauthenticate, StepUpProof } from "@/lib/auth/step-up";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/reauthenticate", {
  POST: endpoint({
    summary: "Authenticate again",
    auth: "account",
    body: StepUpProof,
    errors: ["reauthentication_required", "passkey_invalid", "rate_limited", "overloaded"],
    responses: { 200: Reauthenticated },
    handle: ({ ctx, principal, body, caller }) => reauthenticate(ctx, principal, body, caller),
  }),
});
