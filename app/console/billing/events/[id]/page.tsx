import { billingOperations } from "@/lib/subscriptions/admin/operations";
import { type BillingEventDetails, BillingIdParams } from "@/lib/subscriptions/admin/schema";
import { showBillingEvent } from "@/lib/subscriptions/admin/show-event";
import { LASTING_REASONS } from "@/lib/subscriptions/inbox/decide";
import { Action } from "../../../components/action";
import { AccountLink } from "../../../components/cells";
import { type Fact, Facts, FieldValue, fieldLabel } from "../../../components/facts";
import { PageHead, Section } from "../../../components/headings";
import { EmptyState } from "../../../components/states";
import { type Column, List } from "../../../components/table";
import { Ago, ExactTime } from "../../../components/time";
import { consolePage, parseId, titleOf } from "../../../frame/console-page";
import { describeReason, EventState } from "../../event-columns";

export const generateMetadata = titleOf(
  "Billing",
  async ({ ctx, params }) => (await showBillingEvent(ctx, parseId(BillingIdParams, params).id)).type,
);

const CHANGE_COLUMNS: Column<BillingEventDetails["changes"][number]>[] = [
  { head: "Field", isRowHead: true, cell: ({ field }) => fieldLabel(field) },
  { head: "Before", cell: ({ before }) => <FieldValue value={before} /> },
  { head: "After", cell: ({ after }) => <FieldValue value={after} /> },
  {
    head: "Purchase",
    cell: ({ purchaseId }) => <a href={`/console/billing/purchases/${purchaseId}`}>{purchaseId.slice(-12)}</a>,
  },
];

export default consolePage(
  {
    done: {
      event_processed: "The event was applied.",
      event_ignored: "The event was read again: it changes no purchase.",
      event_failed: "The event failed again. The reason is below.",
    },
  },
  async ({ ctx, params }) => {
    const { id } = parseId(BillingIdParams, params);
    const event = await showBillingEvent(ctx, id);
    return (
      <>
        <PageHead
          title={event.type}
          aside={<EventState {...event} />}
          parent={{ href: "/console/billing", label: "Billing" }}
          lead={event.reason && (await describeReason(event.reason))}
          actions={LASTING_REASONS.has(event.reason ?? "") ? undefined : <Replay event={event} />}
        />
        <List
          title="What it changed"
          lead={
            event.purchaseId ? undefined : "Events of a customer, such as transfers, change the owners of purchases."
          }
          caption="The fields that the event changed"
          columns={CHANGE_COLUMNS}
          rows={event.changes}
          rowKey={({ purchaseId, field }) => `${purchaseId} ${field}`}
          empty="It changed nothing"
        />
        <div className="columns">
          <Section title="Event">
            <Facts entries={factsOf(event)} />
          </Section>
          <Section
            title="Normalized form"
            lead="What was read from the payload, and is folded into the purchase's state."
          >
            {event.facts ? (
              <Facts
                entries={Object.entries(event.facts)
                  .filter(([, value]) => value !== null)
                  .map(([name, value]) => [fieldLabel(name), <FieldValue key={name} value={value} />])}
              />
            ) : (
              <EmptyState title="It cannot be read">A replay parses the payload again.</EmptyState>
            )}
          </Section>
        </div>
        <Section title="Payload" lead="The delivery's body, without personal data.">
          {event.payload === null || event.payload === undefined ? (
            <EmptyState title="No payload">It was deleted after its retention, or there was no delivery.</EmptyState>
          ) : (
            <pre className="json">{JSON.stringify(event.payload, null, 2)}</pre>
          )}
        </Section>
      </>
    );
  },
);

function Replay({ event: { id, type, state, payload } }: { event: BillingEventDetails }) {
  return (
    <Action
      operation={billingOperations.replayBillingEvent}
      label="Replay"
      title={`Replay this ${type}?`}
      submit="Replay the event"
      params={{ id }}
      reason="optional"
    >
      <p>
        {payload
          ? "Its payload is parsed again, and the event is applied again."
          : "The event is applied again as it was read."}{" "}
        {state === "processed"
          ? "It was processed before: it counts once, changes something only if this version reads it differently, and notifies nobody."
          : "It counts once and in its place. If it is applied for the first time, it may notify the owner, once, if it is not older than a day."}
      </p>
    </Action>
  );
}

function factsOf(event: BillingEventDetails): Fact[] {
  const link = (path: string, id: string | null) => id && <a href={`/console/${path}/${id}`}>{id}</a>;
  return [
    ["Provider’s ID", <code key="id">{event.eventId}</code>],
    ["Provider", event.provider],
    ["Store", [event.store, event.environment].filter(Boolean).join(", ")],
    ["Occurred", <ExactTime key="occurred" at={event.occurredAt} />],
    ["Received", <ExactTime key="received" at={event.receivedAt} />],
    ["Processed", <ExactTime key="processed" at={event.processedAt} />],
    event.nextAttemptAt && ["Next attempt", <Ago key="next" at={event.nextAttemptAt} />],
    event.nextAttemptAt && ["Attempts", event.attempts],
    ["Transaction", event.transactionId],
    ["Original transaction", event.originalTransactionId],
    ["Account", event.accountId && <AccountLink key="account" {...event} />],
    ["Purchase", link("billing/purchases", event.purchaseId)],
    ["App User IDs", event.appUserIds.join(", ")],
    event.transferredFrom.length > 0 && ["Transferred from", event.transferredFrom.join(", ")],
  ];
}
