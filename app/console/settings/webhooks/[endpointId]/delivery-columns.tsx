import { webhookOperations } from "@/lib/webhooks/operations";
import type { Delivery, Endpoint } from "@/lib/webhooks/schema";
import { Action } from "../../../components/action";
import type { Column } from "../../../components/table";
import { Ago } from "../../../components/time";
import { DeliveryState, endpointHref, Result } from "../endpoint-parts";

export function deliveryColumns(endpoint: Endpoint): Column<Delivery>[] {
  return [
    {
      head: "Event",
      isRowHead: true,
      cell: ({ eventId, type }) => <a href={`${endpointHref(endpoint.id)}/${eventId}`}>{type}</a>,
    },
    { head: "Occurred", isTight: true, cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
    { head: "State", cell: (delivery) => <DeliveryState {...delivery} /> },
    { head: "Attempts", align: "end", cell: ({ attempts }) => attempts },
    { head: "Last attempt", cell: (delivery) => <LastAttempt delivery={delivery} /> },
    { head: "Next attempt", isTight: true, cell: ({ nextAttemptAt }) => <Ago at={nextAttemptAt} /> },
    { head: "Actions", align: "end", cell: (delivery) => <RetryDelivery endpoint={endpoint} delivery={delivery} /> },
  ];
}

/** How the last attempt ended, and when it began. */
function LastAttempt({ delivery }: { delivery: Delivery }) {
  return (
    <div>
      <Result {...delivery} />
      {delivery.lastAttemptAt && (
        <div className="muted">
          <Ago at={delivery.lastAttemptAt} />
        </div>
      )}
    </div>
  );
}

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
