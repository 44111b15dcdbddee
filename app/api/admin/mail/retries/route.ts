import { retryEmails } from "@/lib/admin/mail/change-emails";
import { EmailRetry, EmailRetryResult } from "@/lib/admin/mail/schema";
import { operatorOf } from "@/lib/admin/operator";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

/** 1,000 ids. */
const MAX_BODY_BYTES = 64 * 1024;

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/mail/retries", {
  POST: endpoint({
    summary: "Send queued emails at once",
    auth: { role: "admin", stepUp: true, scope: "mail:write" },
    idempotency: "replay",
    body: EmailRetry,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: { 200: EmailRetryResult },
    handle: ({ ctx, principal, body, caller }) => retryEmails(ctx, operatorOf(principal, caller), body),
  }),
});
