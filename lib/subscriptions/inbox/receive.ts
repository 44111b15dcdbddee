import type { Context } from "../../context";
import { IdentityEventType, LineEventType, type ProviderEvent } from "../events";
import { configuredProvider } from "../providers/configured";
import type { Delivery } from "../providers/provider";
import { askSoon } from "../reconcile/ask-soon";
import type { DeliveryReceipt } from "../schema";
import { applyEvent } from "./apply";
import { again } from "./attempts";
import type { Refolded } from "./lines";
import { isHashed, storableJson } from "./storable";
import { ownerIds, storeEvent } from "./store";

type Deps = Pick<Context, "billing" | "config" | "count" | "db" | "dbNow" | "log" | "now">;

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
  await again(() => storeEvent(deps, { provider: provider.name, eventId, event, payload, receivedAt }));
  const { status, lines } = await applyEvent(deps, { provider: provider.name, eventId }, ownerIds(event));
  const doubtful = lines.filter((line) => isDoubtful(event.type, line)).map(({ before }) => before.id);
  void askSoon(deps, doubtful, status === "processed" && lines.length === 0 ? receiversOf(event) : []);
  deps.count("billing_event", { type: countedType(event.type), state: status });
  return { status, eventId };
}

/** What the provider is asked about, where it can be: who owns a line now, and whether it was all refunded. */
function isDoubtful(type: string, { before, after }: Refolded): boolean {
  return IdentityEventType.safeParse(type).success || (after.refundedAt !== null && before.refundedAt === null);
}

/** Whom a transfer gives what no event told of: it does not say what. */
function receiversOf({ facts, appUserId }: ProviderEvent): string[] {
  return facts.identityChange === "transfer" && appUserId && !isHashed(appUserId) ? [appUserId] : [];
}

/** Senders may make up as many types as they like. */
function countedType(type: string): string {
  return LineEventType.safeParse(type).data ?? IdentityEventType.safeParse(type).data ?? "other";
}
