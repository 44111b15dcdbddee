import type { Context, Tx } from "../context";
import { isAppError, isDatabaseUnavailable } from "../errors";
import { LineEventType, type ProviderEvent } from "./events";
import { type LineKey, lockLine, refoldLine } from "./lines";
import { possibleAccountIds } from "./linking";
import type { Delivery, Provider } from "./providers/provider";
import type { DeliveryReceipt } from "./schema";
import { storableJson, storableText } from "./storable";

type Deps = Pick<Context, "config" | "count" | "db" | "log" | "now">;
type Outcome = DeliveryReceipt["status"];
type Stored = {
  id: string;
  state: "received" | Exclude<Outcome, "duplicate">;
  type: string;
  environment: string | null;
  store: string | null;
  originalTransactionId: string | null;
};
type Key = { provider: string; eventId: string };

const REASON_LENGTH = 500;

/**
 * Takes a delivery in: authenticates it, stores it, applies it. Returns once what it says is durable, or known
 * to be of no use; a passing failure throws, so that the provider delivers again.
 * @throws AppError webhook_not_configured, webhook_unauthorized, malformed_json, validation_failed
 */
export async function receiveDelivery(deps: Deps, provider: Provider, delivery: Delivery): Promise<DeliveryReceipt> {
  const receivedAt = deps.now();
  provider.authenticate(deps.config, delivery, receivedAt);
  const payload = storableJson(delivery.json());
  const event = provider.read(payload, receivedAt);
  await again(() => storeEvent(deps, provider.name, event, payload, receivedAt));
  const status = await applyEvent(deps, { provider: provider.name, eventId: event.id });
  const type = LineEventType.safeParse(event.type).data ?? "other"; // senders may make up as many as they like
  deps.count("billing_event", { type, state: status });
  return { status, eventId: event.id };
}

/** Stores an event unless it is there already, linked to the first account that it names. */
async function storeEvent({ db }: Deps, provider: string, event: ProviderEvent, payload: unknown, receivedAt: Date) {
  const { facts } = event;
  const accountIds = possibleAccountIds(event.identities);
  await db.$executeRaw`
    WITH named AS (SELECT id FROM "Account" WHERE id = ANY(${accountIds}::uuid[]))
    INSERT INTO "BillingEvent" (id, provider, "eventId", type, environment, store, "originalTransactionId",
      "appUserId", identities, "occurredAt", "purchasedAt", "receivedAt", normalized, payload, "accountId", reason)
    VALUES (gen_random_uuid(), ${provider}, ${event.id}, ${event.type}, ${event.environment}, ${event.store},
      ${event.originalTransactionId}, ${event.appUserId}, ${event.identities}::text[],
      ${facts.occurredAt}::timestamptz, ${facts.purchasedAt}::timestamptz, ${receivedAt}::timestamptz,
      ${JSON.stringify(facts)}::jsonb, ${JSON.stringify(payload)}::jsonb,
      (SELECT id FROM named ORDER BY array_position(${accountIds}::uuid[], id) LIMIT 1),
      CASE WHEN (SELECT count(*) FROM named) > 1 THEN 'names_several_accounts' END)
    ON CONFLICT (provider, "eventId") DO NOTHING`;
}

/**
 * Applies a stored event unless it is processed already. What fails twice would fail for ever: it is kept as
 * failed, with its reason, for an operator to replay.
 */
async function applyEvent({ db, log, now }: Deps, key: Key): Promise<Outcome> {
  try {
    return await again(() => db.$transaction((tx) => applyInside(tx, key, now())));
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    log.error({ err: error, eventId: key.eventId }, "a billing event cannot be applied");
    const reason = storableText(String(error).slice(0, REASON_LENGTH));
    const where = { ...key, state: { not: "processed" as const } };
    const { count } = await db.billingEvent.updateMany({ where, data: { state: "failed", reason } });
    return count > 0 ? "failed" : "duplicate";
  }
}

async function applyInside(tx: Tx, key: Key, at: Date): Promise<Outcome> {
  const event = await lockEvent(tx, key);
  if (event.state === "processed") return "duplicate";
  const where = { id: event.id };
  if (!LineEventType.safeParse(event.type).success) {
    await tx.billingEvent.updateMany({ where, data: { state: "ignored", reason: "type_not_applied" } });
    return "ignored";
  }
  const line = lineKey(key.provider, event);
  if (!line) {
    await tx.billingEvent.updateMany({ where, data: { state: "failed", reason: "transaction_not_named" } });
    return "failed";
  }
  const lineId = await lockLine(tx, line, at);
  const reason = event.state === "received" ? undefined : null; // that of an earlier failure is out of date
  await tx.billingEvent.updateMany({ where, data: { state: "processed", processedAt: at, lineId, reason } });
  await refoldLine(tx, lineId, at);
  return "processed";
}

/** Whoever else delivers this event at the same time waits here, and finds it processed. */
async function lockEvent(tx: Tx, { provider, eventId }: Key): Promise<Stored> {
  const rows = await tx.$queryRaw<Stored[]>`
    SELECT id, state::text, type, environment, store, "originalTransactionId" FROM "BillingEvent"
    WHERE provider = ${provider} AND "eventId" = ${eventId} FOR UPDATE`;
  const [row] = rows;
  if (!row) throw new Error("The event that was just stored is gone");
  return row;
}

/** Store and environment are missing in some deliveries; such lines stand apart, and never count as production. */
function lineKey(provider: string, event: Stored): LineKey | null {
  const { environment, store, originalTransactionId } = event;
  if (originalTransactionId === null) return null;
  return { provider, environment: environment ?? "UNKNOWN", store: store ?? "UNKNOWN", originalTransactionId };
}

/** Tries twice: an account may be deleted, or a lock be lost, under the first attempt. */
async function again<T>(attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (isAppError(error) || isDatabaseUnavailable(error)) throw error;
    return attempt();
  }
}
