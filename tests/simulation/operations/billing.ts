import type { Account } from "../model/accounts";
import { type Purchase, sawAccess, sawPurchases } from "../model/billing";
import { Violation } from "../model/fact";
import { importOperations, runImport } from "./imports";
import { hasSession, isIdentified, type Operation, onAccount, type Step, sawSession } from "./operation";
import { change } from "./operators";
import type { ProviderEvent } from "./sent";
import { buy, deliver, happen, transfer } from "./stores";

/**
 * An import of an account is repeated until it is acknowledged. After a deletion it would make another account, and after
 * a change of the email or the loss of the password it would be refused.
 */
function canRepeat({ model }: Step, { import: given, ...event }: ProviderEvent) {
  const account = given && model.accounts.find(({ number }) => number === given.imported);
  if (event.isLost || !account || account.id === null) return !event.isLost;
  const { exists, email, password } = account;
  return !event.isAcknowledged && exists.is(true) && email.is(account.emailNumber(0)) && !password.canBe(null);
}

const send = (step: Step, event: ProviderEvent) =>
  event.import ? runImport(step, event, event.import) : deliver(step, event);

const eventsOf = ({ purchases }: Account) => [...new Set(purchases.flatMap(({ events }) => events))];

/** A provider that did not respond is not asked again for ten seconds. */
const ASK_AGAIN_MS = 11_000;

/** A provider delivers an event again until it is acknowledged. What is lost, the service finds by itself. */
export async function deliverRest(step: Step): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  for (const account of step.model.accounts)
    for (const event of step.random.shuffle(eventsOf(account)))
      if (canRepeat(step, event) && (!event.isAcknowledged || step.random.chance(0.1))) await send(step, event);
  const unapplied = allPurchases(step)
    .flatMap(({ events }) => events)
    .find((event) => !event.import && !event.isLost && !event.isAcknowledged);
  if (unapplied) throw new Violation("event is not applied", unapplied.label);
  for (const account of step.model.accounts)
    for (const purchase of account.purchases)
      if (purchase.events.every(({ isAcknowledged, isLost }) => isAcknowledged || isLost))
        purchase.known = purchase.events.length;
}

/** Whether the service finds a purchase at its provider: the App Store is asked by a transaction, not by an account. */
const canAskFor = ({ provider, events, known }: Purchase) =>
  provider === "appStore"
    ? known > 0 || events.some(({ isAcknowledged }) => isAcknowledged)
    : provider !== "revenuecat";

const allPurchases = ({ model }: Step) => model.accounts.flatMap(({ purchases }) => purchases);

const appSession = ({ liveSessions }: Account) => liveSessions.find(({ cookie }) => cookie === null);

export async function seeStatus(step: Step, account: Account): Promise<void> {
  const session = appSession(account);
  if (!session) return;
  const fromMs = step.nowMs;
  // Only what had happened before is in the provider's answer.
  const before = account.purchases.map((purchase) => ({ purchase, known: purchase.events.length }));
  const query = step.random.chance(0.3) ? "?fresh=1" : "";
  const path = `/api/subscription/status${query}`;
  const answer = await step.send(`status of ${account.name}`, "GET", path, { token: session.token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  if (answer.body.isFresh)
    for (const { purchase, known } of before) if (canAskFor(purchase)) purchase.known = Math.max(purchase.known, known);
  const entitlements = answer.body.entitlements as { id: string; isActive: boolean }[];
  const active = entitlements.filter(({ isActive }) => isActive).map(({ id }) => id);
  sawAccess(account, allPurchases(step), active, fromMs, step.nowMs);
}

export async function seePurchases(step: Step, account: Account): Promise<void> {
  const session = appSession(account);
  if (!session) return;
  const fromMs = step.nowMs;
  const path = "/api/subscription/purchases?limit=100";
  const answer = await step.send(`purchases of ${account.name}`, "GET", path, { token: session.token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  sawPurchases(account, allPurchases(step), answer.body.purchases, fromMs, step.nowMs);
}

const owned = (account: Account) => account.purchases.filter(({ owner }) => owner === account);
const canTransfer = (account: Account) =>
  account.id !== null && owned(account).some(({ provider }) => provider === "revenuecat");

export const billingOperations: Operation[] = [
  onAccount("buy", 2, isIdentified, async (step, account) => {
    if (owned(account).length >= 3) return;
    account.purchases.push(await buy(step, account));
    step.note(`${account.name} buys at ${account.purchases.at(-1)?.provider}`);
  }),
  onAccount(
    "change a purchase",
    3,
    (account) => owned(account).length > 0,
    async (step, account) => {
      const purchase = step.random.pick(owned(account));
      await happen(step, purchase);
      step.note(`${purchase.events.at(-1)?.label} is due`);
    },
  ),
  onAccount("transfer purchases", 0.7, canTransfer, async (step, from) => {
    const to = step.random.pick(step.model.accounts.filter((one) => !one.isBusy && isIdentified(one)));
    if (!to) return;
    to.isBusy = true;
    await transfer(step, from, to);
    to.isBusy = false;
    step.note(`the purchases of ${from.name} are transferred to ${to.name}`);
  }),
  onAccount(
    "deliver events",
    5,
    ({ purchases }) => purchases.length > 0,
    async (step, account) => {
      const { random } = step;
      const events = eventsOf(account).filter((event) => canRepeat(step, event));
      const waiting = events.filter(({ isAcknowledged }) => !isAcknowledged);
      const chosen = waiting.length > 0 ? random.shuffle(waiting).slice(0, 3) : [random.pick(events)];
      // Some arrive twice at the same time.
      const deliveries = chosen.flatMap((event) => (event && random.chance(0.2) ? [event, event] : (event ?? [])));
      await Promise.all(deliveries.map((event) => send(step, event)));
    },
  ),
  ...importOperations,
  {
    name: "replay an event",
    weight: 0.7,
    start: async (step) => {
      const path = "/api/admin/billing/events";
      const { outcome, body } = await step.send("list events", "GET", `${path}?limit=20`, { operator: "sim" });
      const listed: { id: string }[] = outcome === "done" ? body.events : [];
      const { id } = step.random.pick(listed) ?? {};
      if (id === undefined) return;
      const audited: [string, string] = ["billing_event_replayed", `target=billing-event:${id}`];
      const request: [string, string] = ["POST", `${path}/${id}/replay`];
      // It counts once, and in its own place: what accounts have stays as it is.
      const replayed = await change(step, audited, "replay an event", request, () => true);
      if (replayed.outcome === "done" && replayed.body.status === "failed" && !step.isDisturbed())
        throw new Violation("event is not applied", `${replayed.body.type}: ${replayed.body.reason}`);
    },
  },
  onAccount("see the status", 3, hasSession, seeStatus),
  onAccount("list purchases", 1.5, hasSession, seePurchases),
];
