import { setShownSecretCookie } from "@/lib/platform/http/pages/shown-secret-cookie";
import { createEndpoint } from "@/lib/webhooks/endpoints";
import { EVENT_TYPES, NewEndpointForm, typeField, webhookSecretKind } from "@/lib/webhooks/form";
import { defineConsoleForm } from "../../define-console-form";
import { endpointPage } from "../endpoint-page";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm("/forms/console/webhooks/create", {
  summary: "Create a webhook endpoint",
  page: "/console/settings/webhooks",
  body: NewEndpointForm,
  keptFields: ["url", "description", ...EVENT_TYPES.map(typeField)],
  handle: async ({ ctx, body }, operator) => {
    const { id, secret } = await createEndpoint(ctx, operator, body);
    return {
      to: endpointPage(id),
      done: "created",
      cookies: [await setShownSecretCookie(ctx, operator.accountId, webhookSecretKind(id), secret)],
    };
  },
});
