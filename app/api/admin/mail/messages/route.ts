import { listEmails } from "@/lib/admin/mail/list-emails";
import { EmailsQuery, QueuedEmails } from "@/lib/admin/mail/schema";
import { endpoint } from "@/lib/http/endpoint";
import { defineRoute } from "@/lib/http/route";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/api/admin/mail/messages", {
  GET: endpoint({
    summary: "List the queued emails",
    auth: { role: "support", scope: "mail:read" },
    query: EmailsQuery,
    responses: { 200: QueuedEmails },
    handle: ({ ctx, query }) => listEmails(ctx, query),
  }),
});
