import type { Context } from "../../context";
import { withRetry } from "../../db/with-retry";
import { IdentityEventType, PurchaseEventType } from "../events";
import { configuredProvider } from "../providers/configured";
import type { Delivery } from "../providers/provider";
import type { DeliveryReceipt } from "../schema";
import { applyEvent } from "./apply";
import { storableJson } from "./storable";
import { ownerIds, storeEvent } from "./store";

type Deps = Pick<Context, "billing" | "config" | "count" | "db" | "dbNow" | "log" | "now" | "reconciler">;

/**
 * Takes a delivery in: authenticates it, stores it, applies it. Returns once what it says is durable, or known
 * to be of no use; a passing failure throws, so that the provider delivers again.
 * @throws AppError webhook_not_configured, webhook_unauthorized, malformed_json, validation_failed
 */
export async function receiveDelivery(deps: Deps, delivery: Delivery): Promise<DeliveryReceipt> {
  const receivedAt = deps.now();
  const provider = configuredProvider(deps.config);
  provider.authenticate(deps.config, delivery, receivedAt);
  const body = storableJson(delivery.json());
  const eventId = provider.eventId(body, delivery);
  const payload = provider.withoutAttributes(body);
  const event = provider.read(payload, receivedAt);
  await withRetry(() => storeEvent(deps, { provider: provider.name, eventId, event, payload, receivedAt }));
  const { status, toReconcile } = await applyEvent(deps, { provider: provider.name, eventId }, ownerIds(event));
  if (toReconcile.length > 0) deps.reconciler.wake();
  deps.count("billing_event", { type: countedType(event.type), state: status });
  return { status, eventId };
}

/** Senders may make up as many types as they like. */
function countedType(type: string): string {
  return PurchaseEventType.safeParse(type).data ?? IdentityEventType.safeParse(type).data ?? "other";
}
