import type { DeliveryCounts } from "@/lib/webhooks/deliveries";
import type { Endpoint } from "@/lib/webhooks/schema";
import { Facts } from "../../../components/facts";
import { formatBounded } from "../../../components/format-numbers";
import { Ago, ExactTime } from "../../../components/time";
import { endpointHref } from "../endpoint-parts";

const REASONS: Record<NonNullable<Endpoint["disabledReason"]>, string> = {
  operator: "By an operator",
  gone: "It responded with 410 Gone",
  failing: "It failed for five days",
};

export function EndpointFacts({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, eventTypes, disabledAt, disabledReason, failingSince, previousSecretExpiresAt, createdAt } =
    endpoint;
  return (
    <Facts
      entries={[
        ["URL", <bdi key="url">{url}</bdi>],
        ["Events", eventTypes.join(", ")],
        disabledAt && [
          "Disabled",
          <>
            {disabledReason && REASONS[disabledReason]}, <Ago at={disabledAt} />
          </>,
        ],
        failingSince && ["Failing since", <Ago key="failing" at={failingSince} />],
        previousSecretExpiresAt && [
          "Previous secret",
          <>
            Signs, too, until <ExactTime at={previousSecretExpiresAt} />
          </>,
        ],
        ["Created", <ExactTime key="created" at={createdAt} />],
        ["ID", <code key="id">{id}</code>],
      ]}
    />
  );
}

/** How many deliveries are in each state, with links to them. */
export function DeliveryFigures({ endpointId, counts }: { endpointId: string; counts: DeliveryCounts }) {
  const link = (state: keyof DeliveryCounts) => (
    <a href={`${endpointHref(endpointId)}?state=${state}`}>{formatBounded(counts[state])}</a>
  );
  return (
    <Facts
      entries={[
        ["Pending", link("pending")],
        ["Failed", link("failed")],
        ["Delivered", link("delivered")],
      ]}
    />
  );
}
