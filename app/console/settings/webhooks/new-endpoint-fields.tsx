import type { Flash } from "@/lib/platform/http/pages/flash";
import { WebhookEventType } from "@/lib/webhooks/events";
import { webhookOperations } from "@/lib/webhooks/operations";
import { ConfirmLink } from "../../components/confirm-link";
import { OperationForm } from "../../components/operation-form";
import type { ConsoleOperator } from "../../frame/operator";
import { EndpointFields } from "./endpoint-fields";

/** The form that creates an endpoint. Without a recent sign-in, the page that asks for one comes first. */
export function NewEndpointFields({ operator, flash }: { operator: ConsoleOperator; flash: Flash | null }) {
  if (!operator.isRecent) {
    return (
      <p>
        <ConfirmLink operator={operator} to="create an endpoint" />
      </p>
    );
  }
  return (
    <OperationForm operation={webhookOperations.createWebhookEndpoint} flash={flash} className="form">
      <EndpointFields eventTypes={WebhookEventType.options.filter((type) => flash?.values[`eventTypes.${type}`])} />
      <button type="submit">Create endpoint</button>
    </OperationForm>
  );
}
