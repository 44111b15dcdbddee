import { z } from "zod";
import { stripe } from "../providers/stripe";
import {
  type Api,
  asDelivery,
  type FoundPurchase,
  parseResponse,
  type Source,
  type SourceDeps,
  type StateType,
} from "./source";

export const STRIPE: Api = { name: "Stripe", setting: "BILLING_STRIPE_API_KEY" };

const Customer = z.union([z.string(), z.looseObject({ id: z.string(), email: z.string().nullish() })]);
export const StripeSubscription = z.looseObject({
  id: z.string().min(1).max(255),
  status: z.string(),
  customer: Customer.nullish(),
});

/** Stripe's clock has whole seconds: what a webhook reports of this second happened before or after the request. */
export function stripePurchase(
  deps: Pick<SourceDeps, "config">,
  { customer, ...subscription }: z.infer<typeof StripeSubscription>,
  requestedAt: Date,
  type: StateType,
): FoundPurchase {
  const created = Math.floor(requestedAt.getTime() / 1000);
  const owner = typeof customer === "string" ? { id: customer } : customer;
  const toEvent = asDelivery(stripe, deps, requestedAt, (id, accountId) => {
    const metadata = { ...Object(subscription.metadata), ...(accountId && { accountId }) };
    const object = { ...subscription, customer: owner?.id ?? null, metadata };
    return { id, type, created, livemode: subscription.livemode, data: { object } };
  });
  return { provider: stripe.name, email: owner?.email ?? null, toEvent };
}

export const stripeSource: Source = {
  provider: stripe.name,
  api: STRIPE,
  isOpen: ({ billing }) => billing.stripe !== null,
  intervalMs: 50,
  readPurchases: async (deps, reference, requestedAt) => {
    if (!reference.startsWith("sub_")) return [];
    const response = await deps.billing.stripe?.getSubscription(reference);
    if (response == null) return [];
    return [stripePurchase(deps, parseResponse(STRIPE, StripeSubscription, response), requestedAt, "SNAPSHOT")];
  },
};
