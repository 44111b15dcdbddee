import type { DeliveryCounts } from "@/lib/webhooks/deliveries";
import { webhookOperations } from "@/lib/webhooks/operations";
import type { Endpoint } from "@/lib/webhooks/schema";
import { Field } from "../../../../(web)/components/field";
import { Action } from "../../../components/action";
import { formatBounded } from "../../../components/format-numbers";

const DAY_MS = 24 * 60 * 60 * 1000;
/** As an input of type `datetime-local` has it. */
const toInput = (at: Date): string => at.toISOString().slice(0, 16);

type Props = { endpoint: Pick<Endpoint, "id" | "disabledAt" | "failingSince">; counts: DeliveryCounts; now: Date };

/** Delivers the events since a time again. Not while the endpoint is disabled. */
export function Replay({ endpoint: { id, disabledAt, failingSince }, counts, now }: Props) {
  if (disabledAt !== null) return null;
  const since = failingSince ?? new Date(now.getTime() - DAY_MS);
  return (
    <Action
      operation={webhookOperations.replayWebhookDeliveries}
      label="Replay"
      title="Replay the events since a time?"
      submit="Replay the events"
      params={{ endpointId: id }}
    >
      <p>
        Those whose delivery failed ({formatBounded(counts.failed)} in 30 days), and those that happened while the
        endpoint was disabled or did not exist. Receivers recognize an event by its ID.
      </p>
      <Field
        name="since"
        label="Since (UTC)"
        type="datetime-local"
        defaultValue={toInput(since)}
        max={toInput(now)}
        required
      />
      <p>
        <label className="check">
          <input type="checkbox" name="all" value="on" />
          Also those that were delivered ({formatBounded(counts.delivered)} in 30 days)
        </label>
      </p>
    </Action>
  );
}
