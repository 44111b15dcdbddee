import { billingOperations } from "@/lib/subscriptions/admin/operations";
import type { BillingEventState } from "@/lib/subscriptions/admin/schema";
import { Action } from "../components/action";
import { countBounded, formatCount } from "../components/format-numbers";

type Props = {
  state: BillingEventState | undefined;
  /** What each action is about: 1,000 at most. */
  counts: { failed: number; received: number; purchases: number; expired: number };
  /** The days after which payloads may be deleted. */
  days: number | undefined;
};

/** What can be done with many events at once. */
export function InboxActions({ state, counts, days }: Props) {
  const replayed = state === "received" || state === "ignored" ? state : "failed";
  const count = replayed === "ignored" ? null : counts[replayed];
  return (
    <>
      {count !== 0 && (
        <Action
          operation={billingOperations.replayBillingEvents}
          label={`Replay ${replayed}`}
          title={`Replay the ${replayed} events?`}
          submit="Replay them"
          params={{ state: replayed }}
          reason="optional"
        >
          <p>
            {count === null ? "The ignored events are" : countBounded(count, "event is", "events are")} parsed and
            applied again, oldest first. Each counts once. Those that are applied for the first time may notify their
            owners, once, if they are not older than a day. Those whose cause remains fail again.
          </p>
        </Action>
      )}
      {counts.purchases > 0 && (
        <Action
          operation={billingOperations.reconcilePurchases}
          label="Reconcile all"
          title="Reconcile all customers?"
          submit="Reconcile"
          reason="optional"
        >
          <p>
            The provider is asked about the customers of {countBounded(counts.purchases, "purchase", "purchases")}, one
            request each, and purchases that differ are corrected.
          </p>
        </Action>
      )}
      {days !== undefined && counts.expired > 0 && (
        <Action
          operation={billingOperations.pruneBillingPayloads}
          label="Prune"
          title={`Delete payloads older than ${formatCount(days)} ${days === 1 ? "day" : "days"}?`}
          submit="Delete the payloads"
          reason="optional"
          isDanger
        >
          <p>
            {countBounded(counts.expired, "event is", "events are")} that old. The events stay, and so do the payloads
            of failed ones. A deleted payload cannot be brought back: its event is not parsed again by a replay.
          </p>
        </Action>
      )}
    </>
  );
}
