import { seen } from "@/lib/platform/precondition";
import { changeEndpoint } from "@/lib/webhooks/endpoints";
import { EditEndpointForm } from "@/lib/webhooks/form";
import { defineConsoleForm } from "../../define-console-form";

const OVERWRITTEN = "Somebody else has changed this endpoint since you opened the page. Reload it to see their change.";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/edit", {
  summary: "Change a webhook endpoint",
  page: "/console/settings/webhooks",
  body: EditEndpointForm,
  handle: async ({ ctx, body: { endpointId, previewed, url, eventTypes, description } }, operator) => {
    const change = { url, eventTypes, description };
    await changeEndpoint(ctx, operator, endpointId, change, seen(previewed, OVERWRITTEN));
    return { done: "changed" };
  },
});
