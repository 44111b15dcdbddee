import { logIn } from "@/lib/accounts/register";
import { Auth, Login } from "@/lib/accounts/schema";
import { callerOf } from "@/lib/auth/caller";
import { defineRoute, endpoint } from "@/lib/http/route";
import { chooseTransport, sessionResponse } from "@/lib/http/session-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/login", {
  POST: endpoint({
    summary: "Log in",
    body: Login,
    errors: [
      "invalid_credentials",
      "unauthenticated",
      "email_not_verified",
      "origin_not_allowed",
      "rate_limited",
      "overloaded",
    ],
    responses: { 200: Auth },
    handle: async ({ ctx, request, body, address }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionResponse(200, await logIn(ctx, body, transport, callerOf(ctx, request, address)), request, ctx);
    },
  }),
});
