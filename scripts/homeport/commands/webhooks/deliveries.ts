import { isUuid } from "../../../../lib/platform/db/ids";
import { DeliveriesQuery, type Delivery, type Endpoint, Replay } from "../../../../lib/webhooks/schema";
import { UsageError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { parseLimit, parseTime, parseWith } from "../../options";
import type { AdminApi, Json } from "../../transport/admin-api";
import { endpointPath } from "./endpoints";

export const DELIVERY_STATES = DeliveriesQuery.shape.state.unwrap().options;
/** The deliveries that `show` prints with an endpoint. */
const SHOWN_DELIVERIES = 20;

const readDeliveries = (api: AdminApi, endpoint: string, limit: number, query = {}) =>
  api.list<Json<Delivery>>(`${endpoint}/deliveries`, "deliveries", query, limit);

export async function deliveries(
  { api, output }: CommandContext,
  id: string,
  { state, limit }: { state?: string; limit: string },
): Promise<void> {
  const path = endpointPath(id);
  parseWith(DeliveriesQuery, { state }, { state: "--state" });
  const found = await readDeliveries(api, path, parseLimit(limit), { state });
  if (found.length === 0) output.note("No deliveries found.");
  output.table(found, {
    event: ({ eventId }) => eventId,
    occurred: ({ occurredAt }) => occurredAt,
    type: ({ type }) => type,
    state: ({ state }) => state,
    attempts: ({ attempts }) => attempts,
    "next attempt": ({ nextAttemptAt }) => nextAttemptAt,
    status: ({ responseStatus }) => responseStatus,
    error: ({ error }) => error,
  });
}

export async function show({ api, output }: CommandContext, id: string, eventId: string | undefined): Promise<void> {
  const path = endpointPath(id);
  const document = eventId === undefined ? await endpointOf(api, path) : await api.get(deliveryPath(path, eventId));
  output.result(document, [JSON.stringify(document, null, 2)]);
}

async function endpointOf(api: AdminApi, path: string) {
  const endpoint = await api.get<Json<Endpoint>>(path);
  return { ...endpoint, deliveries: await readDeliveries(api, path, SHOWN_DELIVERIES) };
}

export async function test({ api, output }: CommandContext, id: string): Promise<void> {
  const sent = await api.request<{ eventId: string }>("POST", `${endpointPath(id)}/test`);
  output.result(sent, [`Queued the test event ${sent.eventId}.`]);
}

export async function retry({ api, output }: CommandContext, id: string, eventIds: string[]): Promise<void> {
  const paths = eventIds.map((eventId) => deliveryPath(endpointPath(id), eventId));
  for (const path of paths) await api.request("POST", `${path}/retry`);
  output.result(
    { retried: eventIds },
    eventIds.map((eventId) => `Requeued ${eventId}.`),
  );
}

export async function replay(
  { api, output }: CommandContext,
  id: string,
  { since, all }: { since: string; all?: boolean },
): Promise<void> {
  const path = `${endpointPath(id)}/replay`;
  const input = { since: parseTime(since, "ago"), all };
  parseWith(Replay, input, { since: "--since" });
  const replayed = await api.request<{ queued: number }>("POST", path, input);
  output.result(replayed, [`Requeued ${replayed.queued} ${replayed.queued === 1 ? "event" : "events"}.`]);
}

function deliveryPath(endpoint: string, eventId: string): string {
  if (!isUuid(eventId)) throw new UsageError("EVENT: Must be the id of an event, as `deliveries` prints it.");
  return `${endpoint}/deliveries/${eventId}`;
}
