import { completeSignInWithFactor } from "@/lib/accounts/sign-in";
import { clearChallengeCookie, findChallenge, readChallengeCookie } from "@/lib/auth/second-factor/challenges";
import { TypedFactor, toProof } from "@/lib/auth/second-factor/schema";
import { replaceSession } from "@/lib/auth/sessions/session-response";
import { defineForm } from "@/lib/platform/http/pages/form";
import { NextPage, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineForm("/forms/sign-in/factor", {
  summary: "Complete a sign-in with a second factor",
  page: ({ kind }) => (kind === "recovery_code" ? "/sign-in/factor?kind=recovery_code" : "/sign-in/factor"),
  body: TypedFactor.and(NextPage),
  keptFields: ["callbackUrl"],
  errorPlacement: {
    invalid_code: { field: "code", message: "This code is wrong, used or expired" },
    invalid_challenge: { message: "This sign-in has expired. Sign in again" },
  },
  handle: async ({ ctx, body, request, caller }) => {
    const challenge = await findChallenge(ctx, readChallengeCookie(ctx.config, request.headers), caller);
    const issued = await completeSignInWithFactor(ctx, challenge, toProof(body), caller);
    const cookies = [...(await replaceSession(ctx, request.headers, issued)), clearChallengeCookie(ctx.config)];
    return { to: trustedUrl(body.callbackUrl, ctx.config, "/account"), cookies };
  },
});
