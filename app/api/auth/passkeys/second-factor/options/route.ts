import { createAccountOptions } from "@/lib/auth/passkeys/options";
import { PasskeyRequestOptions } from "@/lib/auth/passkeys/schema";
import { readChallengeCookie } from "@/lib/auth/second-factor/challenge-cookie";
import { findChallenge } from "@/lib/auth/second-factor/challenges";
import { SecondFactorOptions } from "@/lib/auth/second-factor/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute(
  "/api/auth/passkeys/second-factor/options",
  {
    POST: endpoint({
      summary: "Start to complete a login with a passkey",
      body: SecondFactorOptions,
      limit: "passkeyOptionsByIp",
      errors: ["invalid_challenge", "not_found"],
      responses: { 200: PasskeyRequestOptions },
      handle: async ({ ctx, request, body, caller }) => {
        const token = body.challenge ?? readChallengeCookie(ctx.config, request.headers);
        return createAccountOptions(ctx, "second-factor", (await findChallenge(ctx, token, caller)).id);
      },
    }),
  },
);
