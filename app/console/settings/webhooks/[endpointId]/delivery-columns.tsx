import type { Delivery, Endpoint } from "@/lib/webhooks/schema";
import type { Column } from "../../../components/table";
import { Ago } from "../../../components/time";
import { endpointHref } from "../endpoint-parts";
import { DeliveryState, Result } from "../status";
import { RetryDelivery } from "./retry-delivery";

/** The columns of the deliveries to an endpoint. */
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
