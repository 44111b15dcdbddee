import { SendForm } from "@/lib/push/admin/forms";
import { sendMessage } from "@/lib/push/admin/send";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/push/send", {
  summary: "Send a notification",
  page: "/console/push/send",
  body: SendForm,
  handle: async ({ ctx, body }, operator) => {
    const { messageKey, accountId, deviceId, title, body: text, link } = body;
    const to = deviceId === undefined ? { account: accountId } : { deviceId };
    const message = { kind: "custom", to, title, body: text, link } as const;
    const { id } = await sendMessage(ctx, operator, message, messageKey);
    return deviceId === undefined ? { to: `/console/push/messages/${id}`, done: "sent" } : { done: "test_sent" };
  },
});
