import { register } from "@/lib/accounts/register";
import { Auth, Register, VerificationRequired } from "@/lib/accounts/schema";
import { chooseTransport, sessionResponse } from "@/lib/auth/sessions/session-response";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/register", {
  POST: endpoint({
    summary: "Register an account",
    body: Register,
    errors: ["email_taken", "origin_not_allowed", "rate_limited", "overloaded"],
    responses: { 201: Auth, 202: VerificationRequired },
    handle: async ({ ctx, request, body, caller }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      const registered = await register(ctx, body, transport, caller);
      return registered
        ? sessionResponse(201, registered, request, ctx)
        : new RouteResponse(202, { status: "verification_required" });
    },
  }),
});
