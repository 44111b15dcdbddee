import { Purchase } from "../model/billing";
import { Violation } from "../model/fact";
import { fakeHash } from "../world";
import { isIdentified, newPassword, type Operation, onAccount, type Step } from "./operation";
import type { Import, ProviderEvent } from "./sent";
import { buyFromRevenueCat, deliver, later, productOf, storeOf } from "./stores";

const MONTH_MS = 30 * 86_400_000;

function newImport(label: string, path: string, records: object[], given: Omit<Import, "running" | "isAudited">) {
  const body = records.map((record) => JSON.stringify(record)).join("\n");
  const headers = { "content-type": "application/x-ndjson" };
  const request = () => ({ path, body, headers, operator: "sim" });
  const event: ProviderEvent = { label, request, isAcknowledged: false, isLost: false };
  return Object.assign(event, { import: { ...given, running: 0, isAudited: false } });
}

/** Imports something, perhaps not for the first time. */
export async function runImport(step: Step, event: ProviderEvent, given: Import): Promise<void> {
  const { path, ...sent } = event.request();
  const audit = step.model.willAudit(given.audit);
  given.running += 1;
  const isAlone = given.running === 1;
  const answer = await step.send(event.label, "POST", path, sent);
  given.running -= 1;
  if (answer.outcome === "refused") throw new Violation("import is refused", `${event.label}: ${answer.status}`);
  if (answer.outcome === "unknown") return;
  const results = answer.body.results as { status: string; accountId: string | null }[];
  const refused = results.find(({ status }) => status === "refused" || status === "failed");
  if (refused) throw new Violation("import is refused", `${event.label}: ${JSON.stringify(refused)}`);
  const isChange = results.some(({ status }) => status === "created" || status === "updated");
  // Who finds nothing to change knows that an earlier attempt has made the change, with its event, unless it was known.
  if (isChange || (!given.isAudited && isAlone && !given.mayBeKnown?.())) {
    audit.done();
    given.isAudited = true;
  } else if (given.isAudited) audit.refused();
  event.isAcknowledged = true;
  given.onDone(results);
}

/** Reads all subscriptions of a provider, whichever webhooks have arrived, until one request fails. */
async function importFrom(step: Step, provider: "stripe" | "paddle"): Promise<void> {
  const purchases = step.model.accounts.flatMap((account) => account.purchases);
  const before = purchases
    .filter((purchase) => purchase.provider === provider && !purchase.isLifetime)
    .map((purchase) => ({ purchase, known: purchase.events.length }));
  for (let cursor: string | null = ""; cursor !== null; ) {
    const audit = step.model.willAudit("billing_imported");
    const path = `/api/admin/billing/import?from=${provider}${cursor && `&cursor=${cursor}`}`;
    const answer = await step.send(`import from ${provider}`, "POST", path, { operator: "sim" });
    if (answer.outcome === "refused") audit.refused();
    if (answer.outcome !== "done") return;
    const { results, retry, nextCursor } = answer.body as Page;
    if (results.some(({ status }) => status === "created" || status === "updated")) audit.done();
    else audit.refused();
    if (retry !== null) return;
    cursor = nextCursor;
  }
  for (const { purchase, known } of before) purchase.known = Math.max(purchase.known, known);
}
type Page = { results: { status: string }[]; retry: unknown; nextCursor: string | null };

export const importOperations: Operation[] = [
  { name: "import from Stripe", weight: 0.3, start: (step) => importFrom(step, "stripe") },
  { name: "import from Paddle", weight: 0.3, start: (step) => importFrom(step, "paddle") },
  onAccount("import purchases", 0.7, isIdentified, async (step, account) => {
    await later();
    const { random, nowMs } = step;
    const purchases = [1, 2, 3].slice(random.below(3)).map(() => {
      const purchase = new Purchase(account, "revenuecat", random.uuid());
      Object.assign(purchase, { startedAtMs: nowMs - 60_000, endsAtMs: nowMs + MONTH_MS });
      return purchase;
    });
    const records = purchases.map((purchase) => ({
      transactionId: purchase.transaction,
      store: storeOf(purchase),
      customer: account.id,
      productId: productOf(purchase),
      entitlementIds: ["pro"],
      purchasedAt: new Date(purchase.startedAtMs).toISOString(),
      expiresAt: new Date(purchase.endsAtMs).toISOString(),
      asOf: new Date(nowMs).toISOString(),
    }));
    const path = "/api/admin/billing/import?from=csv";
    const event = newImport(`import purchases of ${account.name}`, path, records, {
      audit: "billing_imported",
      mayBeKnown: () => purchases.every(({ events }) => events.length > 1),
      onDone: () => {},
    });
    for (const purchase of purchases) purchase.events.push(event);
    account.purchases.push(...purchases);
    await runImport(step, event, event.import);
  }),
  {
    name: "import an account",
    weight: 0.7,
    start: async (step) => {
      const { model, random } = step;
      const password = newPassword(random);
      const account = model.addAccount(password);
      account.isBusy = true;
      const externalId = `usr_${random.uuid()}`;
      const record = {
        email: account.emailNumber(0),
        externalId,
        password: { format: "bcrypt", hash: fakeHash(password) },
      };
      const onDone = ([result]: readonly { accountId: string | null }[]) => {
        account.exists.set(true);
        account.id = result?.accountId ?? null;
      };
      const label = `import ${account.name}`;
      const given = { audit: "accounts_imported", imported: account.number, onDone } as const;
      const event = newImport(label, "/api/admin/accounts/import?notify=true", [record], given);
      // It has bought already, and the provider knows it by its old id.
      const purchase = buyFromRevenueCat(step, account, MONTH_MS, externalId);
      account.purchases.push(purchase);
      const [bought] = purchase.events;
      purchase.events.push(event);
      if (bought && random.chance(0.6)) await deliver(step, bought);
      await runImport(step, event, event.import);
      account.isBusy = false;
    },
  },
];
