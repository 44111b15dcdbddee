import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { CONSENT_WITHDRAWN, IdentityEventType, PurchaseEventType } from "../events";
import { providerOf } from "../providers/find-provider";
import type { Delivery } from "../providers/provider";
import { sanitizeJson } from "../sanitize";
import type { DeliveryReceipt } from "../schema";
import { receiveEvent } from "./consent";

/** The types that a metric's label may have: a sender may use any type. */
const KnownEventType = PurchaseEventType.or(IdentityEventType).or(z.literal(CONSENT_WITHDRAWN));

type Deps = Pick<
  Context,
  | "billing"
  | "config"
  | "count"
  | "db"
  | "dbNow"
  | "limits"
  | "log"
  | "now"
  | "reconciler"
  | "webhooks"
  | "removeDevices"
  | "withdrawConsent"
>;

/**
 * Receives a webhook delivery: authenticates it, stores its event and applies it. Returns once the event is durable, or
 * once it is known to fail again. A temporary error is thrown, so that the provider retries the delivery.
 * @throws AppError webhook_not_configured, webhook_unauthorized, billing_api_not_configured, unavailable, malformed_json; validation_failed, also for an event that is
 *   stored as failed because a time of it is none
 */
export async function receiveWebhook(deps: Deps, received: Omit<Delivery, "limits">): Promise<DeliveryReceipt> {
  const receivedAt = deps.now();
  const delivery = { ...received, limits: deps.limits };
  const provider = providerOf(deps.config, delivery);
  const sent = await provider.authenticate(deps.config, delivery, receivedAt);
  const body = sanitizeJson(provider.complete ? await provider.complete(deps.billing, sent, receivedAt) : sent);
  const key = { provider: provider.name, eventId: provider.eventId(body, delivery) };
  const payload = provider.toPayload(body);
  const event = provider.read(payload, receivedAt, deps.config.BILLING_PRODUCTS);
  const { status, toReconcile } = await receiveEvent(deps, { ...key, event, payload, receivedAt });
  if (toReconcile.length > 0) deps.reconciler.wake();
  const type = KnownEventType.safeParse(event.type).data ?? "other";
  deps.count("billing_event", { type, state: status });
  const { invalidField: pointer } = event.facts;
  if (pointer !== null && status === "failed") {
    const detail = "Must be a time as the provider documents it, or null";
    throw new AppError("validation_failed", { errors: [{ pointer, code: "invalid_type", detail }] });
  }
  return { status, eventId: key.eventId };
}
