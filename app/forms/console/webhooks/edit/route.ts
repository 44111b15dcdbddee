import { changeEndpoint } from "@/lib/admin/webhooks/endpoints";
import { EditEndpointForm } from "@/lib/admin/webhooks/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/edit", {
  summary: "Change a webhook endpoint",
  page: "/console/settings/webhooks",
  body: EditEndpointForm,
  handle: async ({ ctx, body: { endpointId, url, eventTypes, description } }, operator) => {
    await changeEndpoint(ctx, operator, endpointId, { url, eventTypes, description });
    return { done: "changed" };
  },
});
