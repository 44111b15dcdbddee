import { findDelivery } from "@/lib/webhooks/deliveries";
import { findEndpoint } from "@/lib/webhooks/endpoints";
import { type DeliveryDetails, DeliveryParams } from "@/lib/webhooks/schema";
import { Facts } from "../../../../components/facts";
import { formatCount } from "../../../../components/format-numbers";
import { PageHead, Section } from "../../../../components/headings";
import { EmptyState } from "../../../../components/states";
import { Ago, ExactTime } from "../../../../components/time";
import { consolePage, parseId, titleOf } from "../../../../frame/console-page";
import { DeliveryState, endpointHref, endpointName, Result } from "../../endpoint-parts";
import { RetryDelivery } from "../delivery-columns";

export const generateMetadata = titleOf("Webhooks", async ({ ctx, params }) => {
  const { endpointId, eventId } = parseId(DeliveryParams, params);
  return (await findDelivery(ctx, endpointId, eventId)).type;
});

export default consolePage(
  { done: { tested: "The test is being sent.", retried: "The delivery is queued again." } },
  async ({ ctx, operator, params }) => {
    const { endpointId, eventId } = parseId(DeliveryParams, params);
    const endpoint = await findEndpoint(ctx, endpointId);
    const delivery = await findDelivery(ctx, endpointId, eventId);
    return (
      <>
        <PageHead
          title={delivery.type}
          aside={<DeliveryState {...delivery} />}
          parent={{ href: endpointHref(endpointId), label: endpointName(endpoint) }}
          actions={<RetryDelivery endpoint={endpoint} delivery={delivery} />}
        />
        <div className="columns">
          <Section title="Delivery">
            <Facts entries={factsOf(delivery)} />
          </Section>
          <Section title="Response">
            <ResponseBody delivery={delivery} reloadUrl={operator.pageUrl} />
          </Section>
        </div>
        <Section title="Payload">
          <pre className="json">{JSON.stringify(delivery.payload, null, 2)}</pre>
        </Section>
      </>
    );
  },
);

function ResponseBody({ delivery, reloadUrl }: { delivery: DeliveryDetails; reloadUrl: string }) {
  const { responseBody, responseStatus, error } = delivery;
  if (responseBody) {
    return (
      <>
        <p className="muted">The beginning of the last response body: 1,024 bytes at most.</p>
        <pre className="json">{responseBody}</pre>
      </>
    );
  }
  if (responseStatus !== null) return <EmptyState title="It has no body" />;
  if (error !== null) return <EmptyState title="There was no response" />;
  return (
    <EmptyState title="There is no response yet">
      <a href={reloadUrl}>Reload the page</a>
    </EmptyState>
  );
}

function factsOf(delivery: DeliveryDetails) {
  const { eventId, occurredAt, attempts, lastAttemptAt, durationMs, nextAttemptAt } = delivery;
  return [
    ["Result", <Result key="result" {...delivery} />],
    ["Attempts", attempts],
    ["Last attempt", <ExactTime key="last" at={lastAttemptAt} />],
    ["Took", durationMs === null ? null : `${formatCount(durationMs)} ms`],
    ["Next attempt", <Ago key="next" at={nextAttemptAt} />],
    ["Occurred", <ExactTime key="occurred" at={occurredAt} />],
    ["Event ID", <code key="id">{eventId}</code>],
  ] as const;
}
