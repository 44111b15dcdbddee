import { operatorOf } from "@/lib/admin/operator";
import { announceVersion } from "@/lib/admin/push/announce";
import { listMessages } from "@/lib/admin/push/messages/list-messages";
import { NewMessage } from "@/lib/admin/push/messages/new-message";
import { MessagesQuery, PushMessages, SentMessage } from "@/lib/admin/push/schema";
import { sendMessage } from "@/lib/admin/push/send";
import { endpoint } from "@/lib/http/endpoint";

/** A text in many languages. */
const MAX_BODY_BYTES = 128 * 1024;

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
  maxBodyBytes: MAX_BODY_BYTES,
  errors: [
    ...(["not_found", "no_active_device", "no_live_activity", "notifications_turned_off"] as const),
    "announcement_in_progress",
  ],
  responses: { 201: SentMessage },
  handle: async ({ ctx, principal, body, caller }) => {
    const operator = operatorOf(principal, caller);
    if (body.kind === "app.new_version") return announceVersion(ctx, operator, body);
    return { ...(await sendMessage(ctx, operator, body)), warnings: [] };
  },
});
