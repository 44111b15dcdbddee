import { SendToAudienceForm, toAudience, toSendAt } from "@/lib/push/admin/forms";
import { sendMessage } from "@/lib/push/admin/send";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/push/send-to-audience",
  {
    summary: "Send a notification to an audience",
    page: "/console/push/audience",
    body: SendToAudienceForm,
    handle: async ({ ctx, body }, operator) => {
      const { messageKey, title, body: text, link, perSecond } = body;
      const to = { audience: toAudience(body) };
      const message = { kind: "custom", to, title, body: text, link, perSecond, sendAt: toSendAt(body) } as const;
      const { id } = await sendMessage(ctx, operator, message, messageKey);
      return { to: `/console/push/messages/${id}`, done: "sent" };
    },
  },
);
