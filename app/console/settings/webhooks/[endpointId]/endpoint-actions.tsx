import type { DeliveryCounts } from "@/lib/webhooks/deliveries";
import { endpointState } from "@/lib/webhooks/endpoints";
import { webhookOperations } from "@/lib/webhooks/operations";
import type { Endpoint } from "@/lib/webhooks/schema";
import { Field } from "../../../../(web)/components/field";
import { Action } from "../../../components/action";
import { countBounded, formatBounded } from "../../../components/format-numbers";
import { EndpointFields } from "../endpoint-fields";

type Props = { endpoint: Endpoint; counts: DeliveryCounts };

/** What an admin can do with an endpoint. */
export function EndpointActions({ endpoint, counts }: Props) {
  const { id: endpointId, url, disabledAt, previousSecretExpiresAt } = endpoint;
  const { pending, failed, delivered } = counts;
  const params = { endpointId };
  return (
    <>
      {disabledAt === null && (
        <Action
          operation={webhookOperations.sendWebhookTestEvent}
          label="Send a test"
          title="Send a test?"
          submit="Send the test"
          params={params}
        >
          <p>Sends an event of type webhook.test to the endpoint now.</p>
        </Action>
      )}
      <Action
        operation={webhookOperations.changeWebhookEndpoint}
        label="Edit"
        title="Edit the endpoint"
        submit="Save the changes"
        params={{ ...params, previewed: endpointState(endpoint) }}
      >
        <EndpointFields {...endpoint} />
      </Action>
      <Action
        operation={webhookOperations.rotateWebhookSecret}
        label="Rotate the secret"
        title="Replace the secret?"
        submit="Replace the secret"
        params={params}
      >
        <p>
          The new secret is shown once. For a day deliveries are signed with both, so change it in the receiver within
          that day.
          {previousSecretExpiresAt && " The older of the two current secrets stops signing immediately."}
        </p>
      </Action>
      <Toggle endpoint={endpoint} counts={counts} />
      <Action
        operation={webhookOperations.deleteWebhookEndpoint}
        label="Delete"
        title="Delete the endpoint?"
        submit="Delete the endpoint"
        params={params}
        isDanger
      >
        <p>
          <bdi className="ids">{url}</bdi> gets nothing more. The log of{" "}
          {countBounded(pending + failed + delivered, "delivery", "deliveries")} is deleted
          {pending > 0 && `; ${countBounded(pending, "of them still waits", "of them still wait")}`}. This cannot be
          undone. Disabling the endpoint keeps them.
        </p>
      </Action>
    </>
  );
}

function Toggle({ endpoint: { id, disabledAt }, counts: { pending } }: Props) {
  const isEnabled = disabledAt === null;
  return (
    <Action
      operation={webhookOperations.toggleWebhookEndpoint}
      label={isEnabled ? "Disable" : "Enable"}
      title={isEnabled ? "Disable the endpoint?" : "Enable the endpoint?"}
      submit={isEnabled ? "Disable the endpoint" : "Enable the endpoint"}
      params={{ endpointId: id, enabled: String(!isEnabled) }}
    >
      <p>
        {isEnabled
          ? `The endpoint gets nothing until it is enabled again. ${countBounded(pending, "delivery waits", "deliveries wait")} until then. Events that happen in the meantime can be replayed for 30 days.`
          : `${countBounded(pending, "pending delivery is", "pending deliveries are")} sent now. To deliver the events that happened in the meantime, replay them.`}
      </p>
    </Action>
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** As an input of type `datetime-local` has it. */
const toInput = (at: Date): string => at.toISOString().slice(0, 16);

/** Delivers the events since a time again. Not while the endpoint is disabled. */
export function Replay({ endpoint: { id, disabledAt, failingSince }, counts, now }: Props & { now: Date }) {
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
