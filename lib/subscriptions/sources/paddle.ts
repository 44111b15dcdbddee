import { z } from "zod";
import { paddle } from "../providers/paddle";
import {
  type Api,
  asDelivery,
  type FoundPurchase,
  parseResponse,
  type Source,
  type SourceDeps,
  type StateType,
  toNewEvent,
} from "./source";

export const PADDLE: Api = { name: "Paddle", setting: "BILLING_PADDLE_API_KEY" };

const Id = z.string().min(1).max(255);
/** A subscription, or a transaction with its adjustments. */
export const PaddleEntity = z.looseObject({ id: Id, status: z.string(), customer_id: z.string().nullish() });
const OneEntity = z.object({ data: PaddleEntity });
export const PaddlePagination = z.object({ pagination: z.object({ has_more: z.boolean() }) });
const Event = z.looseObject({ event_id: Id, occurred_at: z.string() });
const EventPage = z.object({ data: z.array(Event), meta: PaddlePagination });

/** The types of the events that may change a purchase. Others need not be sent to this service. */
const CHANGES = [
  ...["created", "imported", "trialing", "activated", "updated", "past_due", "paused", "resumed", "canceled"].map(
    (change) => `subscription.${change}`,
  ),
  "transaction.completed",
  "adjustment.created",
  "adjustment.updated",
];

export function paddlePurchase(
  deps: Pick<SourceDeps, "billing" | "config">,
  entity: z.infer<typeof PaddleEntity>,
  requestedAt: Date,
  type: StateType,
): Omit<FoundPurchase, "email"> {
  const environment = deps.billing.paddle?.environment;
  const toEvent = asDelivery(paddle, deps, requestedAt, (event_id, accountId) => {
    const custom_data = { ...Object(entity.custom_data), ...(accountId && { accountId }) };
    const event = { event_id, event_type: type, occurred_at: requestedAt.toISOString() };
    return { environment, ...event, data: { ...entity, custom_data } };
  });
  return { provider: paddle.name, toEvent };
}

export const paddleSource: Source = {
  provider: paddle.name,
  api: PADDLE,
  isOpen: ({ billing }) => billing.paddle !== null,
  intervalMs: 250, // 240 requests a minute ("Rate limiting")
  eventDays: 90,
  readPurchases: async (deps, reference, requestedAt) => {
    const { paddle: api } = deps.billing;
    const response = await (reference.startsWith("txn_") ? api?.getTransaction : api?.getSubscription)?.(reference);
    if (response == null) return [];
    const { data } = parseResponse(PADDLE, OneEntity, response);
    return [{ ...paddlePurchase(deps, data, requestedAt, "SNAPSHOT"), email: null }];
  },
  /** Newest first, since "List events" has no filter by time. Ids are in the order in which Paddle made them. */
  readEvents: async (deps, { from, position }, requestedAt) => {
    const { paddle: api } = deps.billing;
    if (!api) return { events: [], next: null };
    const { data, meta } = parseResponse(PADDLE, EventPage, await api.listEvents(CHANGES, position));
    const inWindow = data.filter(({ occurred_at }) => new Date(occurred_at) >= from);
    const events = inWindow.map((event) => {
      const delivery = { ...event, environment: api.environment };
      return toNewEvent(paddle, deps, requestedAt, event.event_id, delivery);
    });
    const isEnd = !meta.pagination.has_more || inWindow.length === 0;
    return { events, next: isEnd ? null : (data.at(-1)?.event_id ?? null) };
  },
};
