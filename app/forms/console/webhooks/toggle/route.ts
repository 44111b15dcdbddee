import { changeEndpoint } from "@/lib/webhooks/endpoints";
import { ToggleForm } from "@/lib/webhooks/form";
import { defineConsoleForm } from "../../define-console-form";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/toggle", {
  summary: "Disable or enable a webhook endpoint",
  page: "/console/settings/webhooks",
  body: ToggleForm,
  handle: async ({ ctx, body }, operator) => {
    const enabled = body.enabled === "true";
    await changeEndpoint(ctx, operator, body.endpointId, { enabled });
    return { done: enabled ? "enabled" : "disabled" };
  },
});
