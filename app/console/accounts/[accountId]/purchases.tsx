import type { AccountPurchase } from "@/lib/accounts/admin/schema";
import { HOMEPORT } from "@/lib/subscriptions/providers/find-provider";
import { describeAccess } from "../../billing/access";
import { EventReason, EventState } from "../../billing/event-columns";
import { PurchaseState } from "../../billing/purchases/[id]/purchase-state";
import { Facts } from "../../components/facts";
import { Section } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { Ago, ExactTime } from "../../components/time";
import { countOf } from "./account-action";

/** Earlier events are in the billing inbox. */
const SHOWN_EVENTS = 5;

/** What the customer has bought: each purchase with the events that it results from. `Grants` lists the rest. */
export function Purchases({ purchases }: { purchases: AccountPurchase[] }) {
  const bought = purchases.filter(({ provider }) => provider !== HOMEPORT);
  return (
    <Section title="Purchases">
      {bought.length === 0 && <EmptyState title="The customer has bought nothing yet" />}
      {bought.map((purchase) => (
        <Purchase key={purchase.id} purchase={purchase} />
      ))}
    </Section>
  );
}

function Purchase({ purchase }: { purchase: AccountPurchase }) {
  const { productId, status, store, environment, willRenew, accessEndsAt, events } = purchase;
  const earlier = events.slice(SHOWN_EVENTS);
  return (
    <article className="purchase">
      <h3>
        <a href={`/console/billing/purchases/${purchase.id}`}>{productId ?? "Unknown product"}</a>{" "}
        <PurchaseState status={status} />
      </h3>
      <p>{describeAccess(purchase)}</p>
      <Facts
        entries={[
          ["Store", [store, environment !== "PRODUCTION" && environment].filter(Boolean).join(", ")],
          ["Entitlements", purchase.entitlements.map(({ id }) => id).join(", ")],
          ["Renews", willRenew ? "Yes" : "No"],
          ["Access ends", accessEndsAt && <Ago key="access" at={accessEndsAt} />],
          ["Original transaction", <code key="transaction">{purchase.originalTransactionId}</code>],
          ["App User IDs", purchase.appUserIds.join(", ")],
        ]}
      />
      <Timeline events={events.slice(0, SHOWN_EVENTS)} />
      {earlier.length > 0 && (
        <details>
          <summary>{countOf(earlier.length, "earlier event")}</summary>
          <Timeline events={earlier} />
        </details>
      )}
    </article>
  );
}

function Timeline({ events }: { events: AccountPurchase["events"] }) {
  return (
    <ol className="purchase-events">
      {events.map(({ id, eventId, type, state, reason, occurredAt }) => (
        <li key={id}>
          <a href={`/console/billing/events/${id}`} title={eventId}>
            {type}
          </a>{" "}
          <EventState state={state} /> <EventReason reason={reason} />
          <p className="muted">
            <ExactTime at={occurredAt} />
          </p>
        </li>
      ))}
    </ol>
  );
}
