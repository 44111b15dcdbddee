import { setShownSecretCookie } from "@/lib/platform/http/pages/shown-secret-cookie";
import { rotateSecret } from "@/lib/webhooks/endpoints";
import { webhookSecretKind } from "@/lib/webhooks/form";
import { EndpointParams } from "@/lib/webhooks/schema";
import { defineConsoleForm } from "../../define-console-form";
import { endpointPage } from "../endpoint-page";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineConsoleForm(
  "/forms/console/webhooks/rotate-secret",
  {
    summary: "Rotate the secret of a webhook endpoint",
    page: "/console/settings/webhooks",
    body: EndpointParams,
    handle: async ({ ctx, body: { endpointId } }, operator) => {
      const { secret } = await rotateSecret(ctx, operator, endpointId);
      return {
        to: endpointPage(endpointId),
        done: "rotated",
        cookies: [await setShownSecretCookie(ctx, operator.accountId, webhookSecretKind(endpointId), secret)],
      };
    },
  },
);
