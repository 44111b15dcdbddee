import type { Account } from "../model/accounts";
import { Purchase, sawAccess } from "../model/billing";
import { Violation } from "../model/fact";
import { hasSession, isIdentified, type Operation, onAccount, type Step, sawSession } from "./operation";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A RevenueCat event ("Event Types and Fields") of a purchase. */
function eventOf(step: Step, purchase: Purchase, type: string, fields: Record<string, unknown>) {
  const { account, transaction, events } = purchase;
  const last = Number(events.at(-1)?.body.event_timestamp_ms ?? 0);
  return {
    id: step.random.uuid(),
    type,
    app_user_id: account.id,
    original_app_user_id: account.id,
    aliases: [account.id],
    event_timestamp_ms: Math.max(step.nowMs, last + 1),
    product_id: "com.example.pro.monthly",
    entitlement_ids: ["pro"],
    period_type: "NORMAL",
    purchased_at_ms: purchase.startedAtMs,
    expiration_at_ms: purchase.endsAtMs,
    environment: "PRODUCTION",
    store: "APP_STORE",
    transaction_id: `${transaction}-${purchase.period}`,
    original_transaction_id: transaction,
    price: 4.99,
    currency: "USD",
    ...fields,
  };
}

/** Something happens to a purchase. Its event is delivered later, perhaps after others, and perhaps twice. */
function happen(step: Step, purchase: Purchase): void {
  const { random, nowMs } = step;
  const add = (type: string, fields: Record<string, unknown> = {}) =>
    purchase.events.push({ body: eventOf(step, purchase, type, fields), isAcknowledged: false });
  const isOver = nowMs >= purchase.endsAtMs;
  const type = random.pick(
    isOver ? ["RENEWAL", "EXPIRATION"] : ["RENEWAL", "CANCELLATION", "UNCANCELLATION", "REFUND"],
  );
  if (purchase.isEnded) return;
  if (type === "RENEWAL") {
    purchase.period += 1;
    purchase.startedAtMs = Math.max(purchase.endsAtMs, nowMs);
    purchase.endsAtMs = purchase.startedAtMs + 30 * DAY_MS;
    purchase.isCanceled = false;
    add("RENEWAL");
  } else if (type === "CANCELLATION" && !purchase.isCanceled) {
    purchase.isCanceled = true;
    add("CANCELLATION", { cancel_reason: "UNSUBSCRIBE" });
  } else if (type === "UNCANCELLATION" && purchase.isCanceled) {
    purchase.isCanceled = false;
    add("UNCANCELLATION");
  } else if (type === "EXPIRATION") {
    purchase.isEnded = true;
    add("EXPIRATION", { expiration_reason: "UNSUBSCRIBE" });
  } else if (type === "REFUND" && random.chance(0.3)) {
    purchase.isEnded = true;
    add("CANCELLATION", { cancel_reason: "CUSTOMER_SUPPORT", expiration_at_ms: nowMs - 1_000 });
  }
}

async function deliver(step: Step, purchase: Purchase, event: Purchase["events"][number]): Promise<void> {
  const json = { api_version: "1.0", event: event.body };
  const label = `deliver ${event.body.type} of ${purchase.account.name}`;
  const sent = { json, headers: { authorization: step.world.billingAuthorization } };
  const answer = await step.send(label, "POST", "/api/subscription/billing-provider-webhook", sent);
  if (answer.outcome === "refused") throw new Violation("webhook is refused", `${label}: ${answer.status}`);
  if (answer.outcome === "done") event.isAcknowledged = true;
}

/** A provider delivers an event again until it is acknowledged. */
export async function deliverRest(step: Step): Promise<void> {
  for (const account of step.model.accounts)
    for (const purchase of account.purchases)
      for (const event of step.random.shuffle(purchase.events))
        if (!event.isAcknowledged || step.random.chance(0.1)) await deliver(step, purchase, event);
}

export async function seeStatus(step: Step, account: Account): Promise<void> {
  const session = account.liveSessions.find(({ cookie }) => cookie === null);
  if (!session) return;
  const label = `status of ${account.name}`;
  const answer = await step.send(label, "GET", "/api/subscription/status", { token: session.token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  sawAccess(account, answer.body.isActive, step.nowMs);
}

export const billingOperations: Operation[] = [
  onAccount("buy", 2, isIdentified, async (step, account) => {
    if (account.purchases.length >= 2) return;
    const purchase = new Purchase(account, step.random.uuid());
    purchase.startedAtMs = step.nowMs - 60_000;
    purchase.endsAtMs = step.nowMs + 30 * DAY_MS;
    account.purchases.push(purchase);
    purchase.events.push({ body: eventOf(step, purchase, "INITIAL_PURCHASE", {}), isAcknowledged: false });
    step.note(`${account.name} buys`);
  }),
  onAccount(
    "change a purchase",
    3,
    ({ purchases }) => purchases.length > 0,
    async (step, account) => {
      happen(step, step.random.pick(account.purchases));
      step.note(`a purchase of ${account.name} changes`);
    },
  ),
  onAccount(
    "deliver events",
    5,
    ({ purchases }) => purchases.length > 0,
    async (step, account) => {
      const { random } = step;
      const purchase = random.pick(account.purchases);
      const waiting = purchase.events.filter(({ isAcknowledged }) => !isAcknowledged);
      const events = waiting.length > 0 ? random.shuffle(waiting).slice(0, 3) : [random.pick(purchase.events)];
      // Some arrive twice at the same time.
      const deliveries = events.flatMap((event) => (random.chance(0.2) ? [event, event] : [event]));
      await Promise.all(deliveries.map((event) => deliver(step, purchase, event)));
    },
  ),
  onAccount("see the status", 3, hasSession, seeStatus),
];
