import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordAccountChange } from "../../platform/audit/operator-events";
import { withRetry } from "../../platform/db/transaction";
import type { Operator } from "../../principal";
import { listBillingProducts } from "../admin/billing-products";
import { statusRules } from "../entitlement-rules";
import { receiveWebhook } from "../inbox/receive-webhook";
import type { StoredPurchase } from "../purchase-state";
import { accessOf, purchaseStatus } from "../status/purchase-status";
import { readStatus } from "../status/read-status";
import { paddle } from "./paddle";
import { revenueCat, standardWebhooks } from "./revenuecat";
import type { ProviderName, SentTestEvent, TestEvent, TestEventProviders } from "./schema";
import type { Sender } from "./sender";
import { stripe } from "./stripe";
import { type TestEventType, type TestProduct, testChangeOf, testKeyOf } from "./test-change";

type Deps = Parameters<typeof receiveWebhook>[0];
/** Entitlement ids by product, those of the configuration first. */
type Products = ReadonlyMap<string, readonly string[]>;

const TESTER_MS = 60 * 60 * 1000;
const MAX_NAMED_PRODUCTS = 20;
const DEFAULT_ENTITLEMENT_IDS = ["pro"];

/** The providers, in the order of preference. */
const SENDERS: Record<ProviderName, Sender | null> = {
  revenuecat: revenueCat,
  "standard-webhooks": standardWebhooks,
  stripe,
  paddle,
  "app-store": null,
};
const NAMES = Object.keys(SENDERS) as ProviderName[];

/** Lists the events that can be sent, by provider, with what each does. */
export async function listTestEvents(deps: Pick<Deps, "config" | "db">): Promise<TestEventProviders> {
  const { products: bought } = await listBillingProducts(deps, {});
  const providers = NAMES.map((provider) => {
    const sender = SENDERS[provider];
    const products = sender ? [...knownProducts(deps, provider, sender, bought)] : [];
    return {
      provider,
      unavailable: reasonAgainst(deps.config, provider)?.detail ?? null,
      products: products.map(([productId, ids]) => ({ productId, entitlementIds: [...ids] })),
      types: Object.entries(sender?.events ?? {}).map(([type, text]) => ({ type: type as TestEventType, ...text })),
    };
  });
  return { providers };
}

/**
 * Sends an event of a provider's sandbox about an account's test subscription: signed with the configured secret, and received
 * as one from the provider is. The account is a sandbox tester for the next hour, so that the subscription gives it access. A
 * subscription that does not run starts first.
 * @throws AppError validation_failed, test_event_unavailable
 */
export async function sendTestEvent(deps: Deps, operator: Operator, given: TestEvent): Promise<SentTestEvent> {
  const { accountId, type } = given;
  if ((await deps.db.account.count({ where: { id: accountId } })) === 0) {
    throw invalid("/accountId", "There is no such account");
  }
  const { provider, sender } = requireSender(deps.config, given.provider);
  const { products: bought } = await listBillingProducts(deps, {});
  const known = knownProducts(deps, provider, sender, bought);
  const subject = { accountId, provider, sender };
  const purchase = await readTestPurchase(deps, subject);
  const { start, product } = chooseProducts(deps, given, known, purchase);
  const before = await readSummary(deps, accountId);
  const sandboxUntil = await makeTester(deps, operator, given, sender.events[type].event);
  const events: SentTestEvent["events"] = [];
  if (type !== "INITIAL_PURCHASE" && !isRunning(deps, purchase)) {
    events.push(await deliver(deps, subject, "INITIAL_PURCHASE", start, start));
  }
  events.push(await deliver(deps, subject, type, product, start));
  const changed = await readTestPurchase(deps, subject);
  return {
    provider,
    productId: product.id,
    purchaseId: changed?.id ?? null,
    status: changed ? testStatusOf(deps, changed).status : "none",
    sandboxUntil,
    events,
    before,
    after: await readSummary(deps, accountId),
  };
}

async function readSummary(deps: Deps, accountId: string): Promise<SentTestEvent["before"]> {
  const { status } = await readStatus(deps, accountId);
  const entitlementIds = status.entitlements.filter(({ isActive }) => isActive).map(({ id }) => id);
  return { ...status, entitlementIds };
}

/** The status of the test subscription, for a sandbox tester. */
function testStatusOf({ config, now }: Pick<Deps, "config" | "now">, purchase: StoredPurchase) {
  return purchaseStatus(purchase, now(), statusRules(config, purchase.accountId ?? "", true));
}

type Subject = { accountId: string; provider: ProviderName; sender: Sender };

/** Delivers one event to the webhook. */
async function deliver(
  deps: Deps,
  subject: Subject,
  type: TestEventType,
  product: TestProduct,
  previousProduct: TestProduct,
) {
  const { accountId, sender } = subject;
  const now = deps.now();
  const purchase = await readTestPurchase(deps, subject);
  const change = testChangeOf(type, purchase, {
    accountId,
    now,
    product,
    previousProduct,
    precisionMs: sender.precisionMs,
  });
  const body = JSON.stringify(sender.bodyOf(change));
  const raw = new TextEncoder().encode(body);
  const headers = new Headers(sender.headersOf(deps.config, { id: change.id, raw, now }));
  const receipt = await receiveWebhook(deps, { raw, headers, network: "unknown", json: () => JSON.parse(body) });
  return { ...receipt, type, event: sender.events[type].event };
}

function readTestPurchase({ db }: Pick<Deps, "db">, { accountId, provider, sender }: Subject) {
  const originalTransactionId = sender.purchaseIdOf(testKeyOf(accountId));
  return db.purchase.findFirst({
    where: { provider, environment: "SANDBOX", store: sender.store, originalTransactionId },
  });
}

function isRunning(deps: Pick<Deps, "config" | "now">, purchase: StoredPurchase | null): boolean {
  return purchase !== null && accessOf(testStatusOf(deps, purchase)) !== "none";
}

/** Makes an account a sandbox tester, which ends by itself. Returns when. */
async function makeTester(
  { db, now }: Pick<Deps, "db" | "now">,
  operator: Operator,
  { accountId, reason }: TestEvent,
  event: string,
): Promise<Date> {
  const sandboxUntil = new Date(now().getTime() + TESTER_MS);
  const audited = { type: "billing_test_event_sent", reason, details: { event } } as const;
  await withRetry(() =>
    db.$transaction(async (tx) => {
      await tx.account.update({ where: { id: accountId }, data: { sandboxUntil } });
      await recordAccountChange(tx, now(), operator, accountId, audited);
    }),
  );
  return sandboxUntil;
}

/** Why no event of a provider can be sent; null if one can. */
function reasonAgainst(config: Context["config"], provider: ProviderName) {
  const sender = SENDERS[provider];
  if (!sender) {
    const detail = "Only Apple can sign notifications of the App Store. Buy in its sandbox instead.";
    return { reason: "not_signable", detail };
  }
  if (sender.isConfigured(config)) return null;
  return { reason: "not_configured", detail: `${provider} is not configured: set ${sender.settings}.` };
}

/** @throws AppError test_event_unavailable */
function requireSender(config: Context["config"], given: ProviderName | undefined) {
  const provider = given ?? NAMES.find((name) => reasonAgainst(config, name) === null) ?? config.BILLING_PROVIDER;
  const against = reasonAgainst(config, provider);
  const sender = SENDERS[provider];
  if (against || !sender) {
    throw new AppError("test_event_unavailable", {
      detail: against?.detail ?? "",
      fields: { reason: against?.reason },
    });
  }
  return { provider, sender };
}

/** The products of a provider that the configuration names or that were bought, or two that stand for them. */
function knownProducts(
  { config }: Pick<Deps, "config">,
  provider: string,
  { isProductId, defaultProductIds }: Sender,
  bought: Awaited<ReturnType<typeof listBillingProducts>>["products"],
): Products {
  const configured = [...config.BILLING_PRODUCTS].filter(([id]) => isProductId(id));
  const own = bought.filter((one) => one.provider === provider && one.entitlementIds.length > 0);
  const all = new Map<string, readonly string[]>([
    ...own.map(({ productId, entitlementIds }) => [productId, entitlementIds] as const),
    ...configured,
  ]);
  const first = configured.map(([id]) => id);
  const known = [...first, ...all.keys()].map((id) => [id, all.get(id) ?? []] as const);
  const hasOwn = known.some(([id, ids]) => ids.length > 0 && !defaultProductIds.includes(id));
  const standIns = defaultProductIds.map((id) => [id, DEFAULT_ENTITLEMENT_IDS] as const);
  return new Map(hasOwn ? known : [...standIns, ...known]);
}

/** The product that the subscription has or starts with, and the one that the event is about. @throws AppError validation_failed */
function chooseProducts(
  deps: Pick<Deps, "config" | "now">,
  { type, productId: chosen }: TestEvent,
  known: Products,
  purchase: StoredPurchase | null,
): { start: TestProduct; product: TestProduct } {
  const ids = [...known.keys()].filter((id) => (known.get(id)?.length ?? 0) > 0);
  if (chosen !== undefined && !known.has(chosen)) throw invalid("/productId", `Must be one of ${listOf(known)}`);
  const current = isRunning(deps, purchase) ? (purchase?.productId ?? undefined) : undefined;
  const toProduct = (id: string): TestProduct => ({ id, entitlementIds: known.get(id) ?? DEFAULT_ENTITLEMENT_IDS });
  const usual = purchase?.productId ?? ids[0] ?? "";
  if (type === "PRODUCT_CHANGE") {
    const start = current ?? [usual, ...ids].find((id) => id !== chosen);
    const next = chosen ?? ids.find((id) => id !== start);
    if (start === undefined || next === undefined || next === start) {
      throw invalid(
        "/productId",
        `Must be another product than ${current ?? chosen ?? usual}. Known: ${listOf(known)}`,
      );
    }
    return { start: toProduct(start), product: toProduct(next) };
  }
  if (type === "INITIAL_PURCHASE" || type === "RENEWAL") {
    const pending = type === "RENEWAL" && current ? (purchase?.pendingProductId ?? undefined) : undefined;
    const product = toProduct(chosen ?? pending ?? current ?? usual);
    return { start: current ? toProduct(current) : product, product };
  }
  if (chosen !== undefined && current !== undefined && chosen !== current) {
    throw invalid("/productId", `The test subscription is to ${current}: send PRODUCT_CHANGE first`);
  }
  const product = toProduct(current ?? chosen ?? usual);
  return { start: product, product };
}

function listOf(known: Products): string {
  const named = [...known].map(([id, entitlementIds]) => `${id} (${entitlementIds.join(", ") || "nothing"})`);
  const rest = named.length - MAX_NAMED_PRODUCTS;
  return [...named.slice(0, MAX_NAMED_PRODUCTS), ...(rest > 0 ? [`and ${rest} more`] : [])].join(", ");
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", { errors: [{ pointer, code: "unknown", detail }] });
}
