import { z } from "zod";
import { paddle } from "../providers/paddle";
import { type Api, asDelivery, type FoundPurchase, type Source, type SourceDeps, type StateType } from "./source";

export const PADDLE: Api = { name: "Paddle", setting: "BILLING_PADDLE_API_KEY" };

export const PaddleSubscription = z.looseObject({
  id: z.string().min(1).max(255),
  status: z.string(),
  customer_id: z.string().nullish(),
});

export function paddlePurchase(
  deps: Pick<SourceDeps, "billing" | "config">,
  subscription: z.infer<typeof PaddleSubscription>,
  requestedAt: Date,
  type: StateType,
): Omit<FoundPurchase, "email"> {
  const environment = deps.billing.paddle?.environment;
  const toEvent = asDelivery(paddle, deps, requestedAt, (event_id, accountId) => {
    const custom_data = { ...Object(subscription.custom_data), ...(accountId && { accountId }) };
    const event = { event_id, event_type: type, occurred_at: requestedAt.toISOString() };
    return { environment, ...event, data: { ...subscription, custom_data } };
  });
  return { provider: paddle.name, toEvent };
}

export const paddleSource: Source = {
  provider: paddle.name,
  api: PADDLE,
  isOpen: ({ billing }) => billing.paddle !== null,
  intervalMs: 250,
  readPurchases: async () => [],
};
