import { operatorOf } from "@/lib/admin/operator";
import { announceVersion } from "@/lib/admin/push/announce";
import { listMessages } from "@/lib/admin/push/messages/list-messages";
import { MessagesQuery, NewMessage, PushMessageDetails, PushMessages } from "@/lib/admin/push/schema";
import { sendMessage } from "@/lib/admin/push/send";
import { endpoint } from "@/lib/http/endpoint";

export const listAll = endpoint({
  summary: "List the newest notifications",
  auth: { role: "support", scope: "push:read" },
  query: MessagesQuery,
  errors: ["not_found"],
  responses: { 200: PushMessages },
  handle: ({ ctx, query }) => listMessages(ctx, query),
});

export const sendOne = endpoint({
  summary: "Send a notification, or announce a version",
  auth: { role: "admin", stepUp: true, scope: "push:send" },
  idempotency: "replay",
  body: NewMessage,
  errors: ["not_found", "no_active_device", "notifications_turned_off", "announcement_in_progress"],
  responses: { 201: PushMessageDetails },
  handle: ({ ctx, principal, body, caller }) => {
    const operator = operatorOf(principal, caller);
    return body.kind === "custom" ? sendMessage(ctx, operator, body) : announceVersion(ctx, operator, body);
  },
});
