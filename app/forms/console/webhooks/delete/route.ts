import { deleteEndpoint } from "@/lib/webhooks/endpoints";
import { EndpointParams } from "@/lib/webhooks/schema";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/delete", {
  summary: "Delete a webhook endpoint",
  page: "/console/settings/webhooks",
  body: EndpointParams,
  handle: async ({ ctx, body: { endpointId } }, operator) => {
    await deleteEndpoint(ctx, operator, endpointId);
    return { to: "/console/settings/webhooks", done: "deleted" };
  },
});
