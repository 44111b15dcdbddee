import { Auth } from "@/lib/accounts/schema";
import { completeSignInWithFactor } from "@/lib/accounts/sign-in";
import { readChallengeCookie } from "@/lib/auth/second-factor/challenge-cookie";
import { findChallenge } from "@/lib/auth/second-factor/challenges";
import { SecondFactor } from "@/lib/auth/second-factor/schema";
import { chooseTransport, sessionResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/login/factor", {
  POST: endpoint({
    summary: "Complete a login with a second factor",
    body: SecondFactor,
    errors: ["invalid_challenge", "invalid_code", "passkey_invalid", "origin_not_allowed", "rate_limited"],
    responses: { 200: Auth },
    handle: async ({ ctx, request, body, caller }) => {
      const token = body.challenge ?? readChallengeCookie(ctx.config, request.headers);
      const challenge = await findChallenge(ctx, token, caller);
      chooseTransport(request, challenge.transport, ctx);
      return sessionResponse(200, await completeSignInWithFactor(ctx, challenge, body, caller), request, ctx);
    },
  }),
});
