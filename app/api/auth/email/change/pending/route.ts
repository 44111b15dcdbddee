import { cancelEmailChange, findPendingEmailChange } from "@/lib/accounts/email-change/pending";
import { EmailChangeState } from "@/lib/accounts/email-change/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";
import { RouteResponse } from "@/lib/http/route-response";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/auth/email/change/pending", {
  GET: endpoint({
    summary: "Get the pending change of the caller's email",
    auth: "account",
    responses: { 200: EmailChangeState },
    handle: async ({ ctx, principal }) => ({ pending: await findPendingEmailChange(ctx, principal.account.id) }),
  }),
  DELETE: endpoint({
    summary: "Cancel the pending change of the caller's email",
    auth: "account",
    responses: { 204: null },
    handle: async ({ ctx, principal, caller }) => {
      await cancelEmailChange(ctx, principal.account.id, caller);
      return new RouteResponse(204, null);
    },
  }),
});
