import { operatorOf } from "@/lib/admin/operator";
import { cancelMessage } from "@/lib/admin/push/cancel";
import { showMessage } from "@/lib/admin/push/messages/list-messages";
import { MessageParams, PushMessageDetails } from "@/lib/admin/push/schema";
import { endpoint } from "@/lib/http/endpoint";

export const getOne = endpoint({
  summary: "Show a notification and its outcome",
  auth: { role: "support", scope: "push:read" },
  params: MessageParams,
  errors: ["not_found"],
  responses: { 200: PushMessageDetails },
  handle: ({ ctx, params }) => showMessage(ctx, params.messageId),
});

export const cancelOne = endpoint({
  summary: "Cancel the unsent deliveries of a notification",
  auth: { role: "admin", stepUp: true, scope: "push:send" },
  idempotency: "replay",
  params: MessageParams,
  errors: ["not_found"],
  responses: { 200: PushMessageDetails },
  handle: ({ ctx, principal, params, caller }) => cancelMessage(ctx, operatorOf(principal, caller), params.messageId),
});
