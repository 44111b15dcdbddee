import type { BillingEventState } from "@/lib/admin/billing/schema";
import type { Context } from "@/lib/context";
import { Action } from "../../actions/action";
import { formatBounded, formatCount } from "../../components/figures";

type Props = {
  ctx: Pick<Context, "billing" | "config">;
  state: BillingEventState | undefined;
  counts: { failed: number; received: number };
};

/** What can be done with many events at once. */
export function InboxActions({ ctx, state, counts }: Props) {
  const days = ctx.config.BILLING_PAYLOAD_RETENTION_DAYS;
  const replayed = state === "received" || state === "ignored" ? state : "failed";
  const count = replayed === "ignored" ? null : counts[replayed];
  return (
    <>
      {count !== 0 && (
        <Action
          form="/forms/console/billing/replays"
          label={`Replay ${replayed}`}
          title={`Replay the ${replayed} events?`}
          submit="Replay them"
          values={{ state: replayed }}
          reason="optional"
        >
          <p>
            {count === null
              ? "The ignored events are"
              : count === 1
                ? "1 event is"
                : `${formatBounded(count)} events are`}{" "}
            parsed and applied again, oldest first. Each counts once, and no notification is sent again. Those whose
            cause remains fail again.
          </p>
        </Action>
      )}
      {ctx.billing && (
        <Action
          form="/forms/console/billing/reconciliations"
          label="Reconcile all"
          title="Reconcile all customers?"
          submit="Reconcile"
          reason="optional"
        >
          <p>
            The provider is asked about every customer with purchases, one request each, and purchases that differ are
            corrected.
          </p>
        </Action>
      )}
      {days !== undefined && (
        <Action
          form="/forms/console/billing/prune"
          label="Prune"
          title={`Delete payloads older than ${formatCount(days)} days?`}
          submit="Delete the payloads"
          reason="optional"
          isDanger
        >
          <p>
            The events stay, and so do the payloads of failed ones. A deleted payload cannot be brought back: its event
            is not parsed again by a replay.
          </p>
        </Action>
      )}
    </>
  );
}
