import { isUuid } from "../../../../lib/platform/db/ids";
import { DeliveriesQuery } from "../../../../lib/webhooks/schema";
import { UsageError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { checked, parseLimit } from "../../options";
import { endpoint } from "./endpoints";

export const DELIVERY_STATES = DeliveriesQuery.shape.state.unwrap().options;
/** The deliveries that `show` prints with an endpoint. */
const SHOWN_DELIVERIES = 20;

export async function deliveries(
  { api, output }: CommandContext,
  id: string,
  { state, limit }: { state?: string; limit: string },
): Promise<void> {
  const params = endpoint(id);
  const query = checked(DeliveriesQuery, { state }, { state: "--state" });
  const found = await api.list("listWebhookDeliveries", "deliveries", { params, query }, parseLimit(limit));
  output.table(found, "No deliveries found.", {
    event: "eventId",
    occurred: "occurredAt",
    type: "type",
    state: "state",
    attempts: "attempts",
    "next attempt": "nextAttemptAt",
    status: "responseStatus",
    error: "error",
  });
}

export async function show({ api, output }: CommandContext, id: string, eventId: string | undefined): Promise<void> {
  const params = endpoint(id);
  const document =
    eventId === undefined
      ? {
          ...(await api.call("getWebhookEndpoint", { params })),
          deliveries: await api.list("listWebhookDeliveries", "deliveries", { params }, SHOWN_DELIVERIES),
        }
      : await api.call("getWebhookDelivery", { params: delivery(id, eventId) });
  output.result(document, [JSON.stringify(document, null, 2)]);
}

export async function retry({ api, output }: CommandContext, id: string, eventIds: string[]): Promise<void> {
  const all = eventIds.map((eventId) => delivery(id, eventId));
  for (const params of all) await api.call("retryWebhookDelivery", { params });
  output.result(
    { retried: eventIds },
    eventIds.map((eventId) => `Requeued ${eventId}.`),
  );
}

function delivery(id: string, eventId: string) {
  const params = { ...endpoint(id), eventId };
  if (!isUuid(eventId)) throw new UsageError("EVENT: Must be the id of an event, as `deliveries` prints it.");
  return params;
}
