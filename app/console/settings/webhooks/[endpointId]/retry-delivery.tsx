import { webhookOperations } from "@/lib/webhooks/operations";
import type { Delivery, Endpoint } from "@/lib/webhooks/schema";
import { Action } from "../../../components/action";

type Props = { endpoint: Pick<Endpoint, "id" | "disabledAt">; delivery: Pick<Delivery, "eventId" | "type" | "state"> };

/** Delivers an event again, now. Not while the endpoint is disabled. */
export function RetryDelivery({ endpoint, delivery: { eventId, type, state } }: Props) {
  if (endpoint.disabledAt !== null) return null;
  return (
    <Action
      operation={webhookOperations.retryWebhookDelivery}
      label="Retry"
      name={`${type} ${eventId}`}
      title={`Deliver this ${type} again?`}
      submit="Deliver it now"
      params={{ endpointId: endpoint.id, eventId }}
    >
      <p>
        {state === "delivered"
          ? "The receiver has taken it already, and recognizes it by its ID."
          : "It is attempted at once. If that fails, its ten attempts start again."}
      </p>
    </Action>
  );
}
