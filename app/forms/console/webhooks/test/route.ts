import { sendTestEvent } from "@/lib/webhooks/replay";
import { EndpointParams } from "@/lib/webhooks/schema";
import { defineConsoleForm } from "../../define-console-form";
import { endpointPage } from "../endpoint-page";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/test", {
  summary: "Send a test event to a webhook endpoint",
  page: "/console/settings/webhooks",
  body: EndpointParams,
  handle: async ({ ctx, body: { endpointId } }, operator) => {
    const { eventId } = await sendTestEvent(ctx, operator, endpointId);
    return { to: `${endpointPage(endpointId)}/${eventId}`, done: "tested" };
  },
});
