import { Auth, Register } from "@/lib/accounts/schema";
import { register } from "@/lib/accounts/sign-in";
import { callerOf } from "@/lib/auth/credentials";
import { defineRoute, endpoint } from "@/lib/http/route";
import { chooseTransport, sessionReply } from "@/lib/http/session-reply";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/register", {
  POST: endpoint({
    summary: "Register an account",
    body: Register,
    responses: { 201: Auth },
    handle: async ({ ctx, request, body, address }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionReply(201, await register(ctx, body, transport, callerOf(request, address)), ctx);
    },
  }),
});
