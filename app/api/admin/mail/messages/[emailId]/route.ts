import { removeEmail } from "@/lib/admin/mail/change-emails";
import { EmailParams } from "@/lib/admin/mail/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/mail/messages/[emailId]", {
  DELETE: endpoint({
    summary: "Remove an email from the queue",
    auth: { role: "admin", stepUp: true, scope: "mail:write" },
    idempotency: "replay",
    params: EmailParams,
    errors: ["not_found"],
    responses: { 204: null },
    handle: ({ ctx, principal, params, caller }) => removeEmail(ctx, operatorOf(principal, caller), params.emailId),
  }),
});
