import type { TimelineStep } from "@/lib/subscriptions/admin/schema";
import { Facts, FieldValue, fieldLabel } from "../../../components/facts";
import { EmptyState } from "../../../components/states";
import { ExactTime } from "../../../components/time";
import { PurchaseState } from "./purchase-state";

/** A purchase's events as they are folded, newest first. */
export function Timeline({ steps }: { steps: readonly TimelineStep[] }) {
  if (steps.length === 0) return <EmptyState title="No event can be read" />;
  return (
    <ol className="timeline">
      {steps.map((step) => (
        <Step key={step.event.id} step={step} />
      ))}
    </ol>
  );
}

function Step({ step: { event, before, after, changes, status, isPeriodMissed } }: { step: TimelineStep }) {
  const isLate = event.receivedAt.getTime() - event.occurredAt.getTime() > 60_000;
  return (
    <li>
      <h3>
        <a href={`/console/billing/events/${event.id}`}>{event.type}</a> <PurchaseState status={status} />
      </h3>
      <p className="muted">
        <ExactTime at={event.occurredAt} />
        {isLate && (
          <>
            , received <ExactTime at={event.receivedAt} />
          </>
        )}
        {before === null && ". The first event"}
        {isPeriodMissed && ". It begins a period whose own event is missing"}
      </p>
      {changes.length === 0 ? (
        <p>Changes nothing.</p>
      ) : (
        <ul className="changes">
          {changes.map(({ field, before: old, after: now }) => (
            <li key={field}>
              {fieldLabel(field)}: {before !== null && <FieldValue value={old} />}
              {before !== null && " → "}
              <FieldValue value={now} />
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>State after it</summary>
        <Facts
          entries={Object.entries(after).map(([name, value]) => [
            fieldLabel(name),
            <FieldValue key={name} value={value} />,
          ])}
        />
      </details>
    </li>
  );
}
