import { renewRecoveryCodes } from "@/lib/auth/second-factor/manage-factors";
import { NewRecoveryCodes } from "@/lib/auth/second-factor/schema";
import { StepUpProof } from "@/lib/auth/step-up";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/factors/recovery-codes", {
  POST: endpoint({
    summary: "Replace the recovery codes",
    auth: "account",
    body: StepUpProof,
    isBodyOptional: true,
    errors: ["no_second_factor", "reauthentication_required", "rate_limited", "overloaded"],
    responses: { 200: NewRecoveryCodes },
    handle: async ({ ctx, principal, body, caller }) => ({
      recoveryCodes: await renewRecoveryCodes(ctx, principal, body, caller),
    }),
  }),
});
