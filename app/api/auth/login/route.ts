import { Auth, Login } from "@/lib/accounts/schema";
import { SIGN_IN_ERRORS, signIn } from "@/lib/accounts/sign-in";
import { chooseTransport, sessionResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/login", {
  POST: endpoint({
    summary: "Log in",
    body: Login,
    errors: [...SIGN_IN_ERRORS, "unauthenticated", "origin_not_allowed"],
    responses: { 200: Auth },
    handle: async ({ ctx, request, body, caller }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionResponse(200, await signIn(ctx, body, transport, caller), request, ctx);
    },
  }),
});
