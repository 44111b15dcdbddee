import { startTotp } from "@/lib/auth/second-factor/enroll-totp";
import { removeTotp } from "@/lib/auth/second-factor/manage-factors";
import { TotpEnrollment } from "@/lib/auth/second-factor/schema";
import { StepUpProof } from "@/lib/auth/step-up";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

const STEP_UP = { auth: "account", body: StepUpProof, isBodyOptional: true } as const;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/factors/totp", {
  POST: endpoint({
    summary: "Start to add an authenticator app",
    ...STEP_UP,
    errors: ["factor_exists", "reauthentication_required", "rate_limited", "overloaded"],
    responses: { 201: TotpEnrollment },
    handle: ({ ctx, principal, body, caller }) => startTotp(ctx, principal, body, caller),
  }),
  DELETE: endpoint({
    summary: "Remove the authenticator app",
    ...STEP_UP,
    errors: ["not_found", "reauthentication_required", "rate_limited", "overloaded"],
    responses: { 204: null },
    handle: ({ ctx, principal, body, caller }) => removeTotp(ctx, principal, body, caller),
  }),
});
