import { countDeliveries, listDeliveries } from "@/lib/webhooks/deliveries";
import { findEndpoint } from "@/lib/webhooks/endpoints";
import { webhookSecretKind } from "@/lib/webhooks/operations";
import { DeliveriesQuery, EndpointParams } from "@/lib/webhooks/schema";
import { Filters, SelectFilter } from "../../../components/filters";
import { PageHead, Section } from "../../../components/headings";
import { ShownSecret } from "../../../components/shown-secret";
import { EmptyState } from "../../../components/states";
import { List } from "../../../components/table";
import { consolePage, parseId, titleOf } from "../../../frame/console-page";
import { EndpointStatus, endpointName } from "../endpoint-parts";
import { deliveryColumns } from "./delivery-columns";
import { EndpointActions, Replay } from "./endpoint-actions";
import { DeliveryFigures, EndpointFacts } from "./endpoint-facts";

export const generateMetadata = titleOf("Webhooks", async ({ ctx, params }) =>
  endpointName(await findEndpoint(ctx, parseId(EndpointParams, params).endpointId)),
);

const STATES = { pending: "Pending", delivered: "Delivered", failed: "Failed" };

export default consolePage(
  {
    query: DeliveriesQuery,
    done: {
      created: "The endpoint was created. It gets the events that happen from now on.",
      changed: "The endpoint was changed.",
      enabled: "The endpoint is enabled. Its pending deliveries are sent now.",
      disabled: "The endpoint is disabled. It gets nothing until it is enabled.",
      rotated: "The secret was replaced. For a day, deliveries are signed with both.",
      retried: "The delivery is queued again.",
      replayed: "The events are queued again.",
      replayed_none: "There is nothing to deliver again since that time.",
    },
  },
  async ({ ctx, params, query }) => {
    const { endpointId } = parseId(EndpointParams, params);
    const endpoint = await findEndpoint(ctx, endpointId);
    const [{ deliveries, nextCursor }, counts] = await Promise.all([
      listDeliveries(ctx, endpointId, query),
      countDeliveries(ctx, endpointId),
    ]);
    return (
      <>
        <PageHead
          title={<bdi>{endpointName(endpoint)}</bdi>}
          parent={{ href: "/console/settings/webhooks", label: "Webhooks" }}
          aside={<EndpointStatus status={endpoint.status} />}
          actions={<EndpointActions endpoint={endpoint} counts={counts} />}
        />
        <ShownSecret
          kind={webhookSecretKind(endpointId)}
          title="The secret"
          lead="Copy it to the receiver now: the receiver needs it to verify signatures. It is stored encrypted and not shown again."
        />
        <div className="columns">
          <Section title="Endpoint">
            <EndpointFacts endpoint={endpoint} />
          </Section>
          <Section title="Last 30 days">
            <DeliveryFigures endpointId={endpointId} counts={counts} />
          </Section>
        </div>
        <List
          title="Deliveries"
          actions={<Replay endpoint={endpoint} counts={counts} now={ctx.now()} />}
          caption="Deliveries, the newest event first"
          columns={deliveryColumns(endpoint)}
          rows={deliveries}
          rowKey={({ eventId }) => eventId}
          empty={
            query.state ? (
              <EmptyState title={`No delivery is ${query.state}`} />
            ) : (
              <EmptyState title="There are no deliveries yet">A test shows whether the receiver works.</EmptyState>
            )
          }
          nextCursor={nextCursor}
        >
          <Filters>
            <SelectFilter name="state" label="State" value={query.state} options={STATES} />
          </Filters>
        </List>
      </>
    );
  },
);
