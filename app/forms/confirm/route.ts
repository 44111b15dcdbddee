import { PasskeyAssertionField } from "@/lib/auth/passkeys/schema";
import { reauthenticate, StepUpProof } from "@/lib/auth/step-up";
import { defineForm } from "@/lib/platform/http/pages/form";
import { confirmPath, NextPage, ownPath } from "@/lib/platform/http/pages/redirect-paths";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/confirm", {
  summary: "Authenticate again",
  page: ({ callbackUrl = "/account" }) => confirmPath(callbackUrl),
  session: true,
  body: StepUpProof.extend({ passkey: PasskeyAssertionField.optional() }).and(NextPage),
  handle: async ({ ctx, body, principal, caller }) => {
    await reauthenticate(ctx, principal, body, caller);
    return { to: ownPath(body.callbackUrl, ctx.config.baseUrl, "/account") };
  },
});
