import type { BillingProduct } from "../admin/billing-products";
import type { Grant } from "../grants/schema";
import { HOMEPORT } from "../providers/find-provider";
import type { StoredPurchase } from "../purchase-state";
import type { PurchaseStatus } from "../schema";
import { accessOf, isRenewalOverdue } from "../status/purchase-status";
import { ACCESS_CODES, type AccessAction, type AccessReason, type AccessReasonCode } from "./schema";

/** What happened last to a purchase or an account, as the inbox has it. */
export type LastEvent = { type: string; occurredAt: Date; receivedAt: Date };

/** A purchase of the account, with what its status does not say. */
export type OwnedPurchase = {
  purchase: StoredPurchase & { reconciledAt: Date | null };
  status: PurchaseStatus;
  isReplaced: boolean;
  lastEvent: LastEvent | null;
  /** An event that would give something else if it were read again. */
  outdated: { id: string; entitlementIds: readonly string[] } | null;
  /** What `BILLING_PRODUCTS` maps its product to. */
  configured: BillingProduct["configuredEntitlementIds"];
  /** Of a grant. */
  grant: Grant | null;
  /** The requests about it to which the provider's API has not responded, and when the next one is due. */
  unanswered: { attempts: number; nextAttemptAt: Date } | null;
  provider: ProviderState;
};

/**
 * `lastReceivedAt`: of its newest delivery; null if there is none among the newest events. `isAsked`: its API has a key;
 * `pausedUntil`: it limits requests. `sweep`: the search for events that did not arrive.
 */
export type ProviderState = {
  isConfigured: boolean;
  isAsked: boolean;
  lastReceivedAt: Date | null;
  pausedUntil: Date | null;
  sweep: { lastFound: number; finishedAt: Date | null; failure: string | null } | null;
};

type About = { entitlementId: string | null; at: Date };

/** Says whether a purchase gives access, and why not; null for one that explains nothing. */
export function reasonOf(owned: OwnedPurchase, about: About): AccessReason | null {
  const code = codeOf(owned, about);
  if (code === null) return null;
  const { purchase, lastEvent, outdated } = owned;
  const received = lastEvent && purchase.provider !== HOMEPORT ? ` Its last event: ${describeEvent(lastEvent)}.` : "";
  return {
    code,
    text: TEXTS[code](owned, about) + refundText(code, owned) + received,
    purchaseId: purchase.id,
    eventId: code === "mapping_changed" ? (outdated?.id ?? null) : null,
    accountId: null,
    actions: actionsOf(code, owned),
  };
}

/** A refund that has not ended access. */
function refundText(code: AccessReasonCode, { status }: OwnedPurchase): string {
  if (!ACCESS_CODES.has(code)) return "";
  if (status.refundedAt)
    return ` It was refunded on ${timeText(status.refundedAt)}, and access continues until its end.`;
  if (status.revocationType !== "REFUND_PRORATED") return "";
  const share = status.revocationPercentage === null ? "A part" : `${status.revocationPercentage} %`;
  return ` ${share} of its price was refunded, which does not end access.`;
}

type PurchaseCode = Exclude<
  AccessReasonCode,
  | "account_disabled"
  | "deliveries_lost"
  | "entitlement_unknown"
  | "event_failed"
  | "event_waiting"
  | "no_deliveries"
  | "no_event"
  | "no_purchase"
  | "other_account"
  | "provider_unreachable"
  | "unlinked_purchases"
  | "without_account"
>;

function codeOf(owned: OwnedPurchase, { entitlementId, at }: About): PurchaseCode | null {
  const { purchase, status, outdated, configured } = owned;
  const access = accessOf(status);
  const gives = purchase.entitlementIds;
  const isOther = entitlementId !== null && gives.length > 0 && !gives.includes(entitlementId);
  const isCounted = access !== "none" || status.status === "none";
  if (isCounted && outdated && (entitlementId === null || outdated.entitlementIds.includes(entitlementId))) {
    return "mapping_changed";
  }
  if (status.status === "none") return configured?.length === 0 ? null : "product_without_entitlement";
  if (access === "none") return isOther ? null : endedCode(owned, at);
  if (isOther) return "other_entitlement";
  if (access === "not_counted") return purchase.environment === "SANDBOX" ? "sandbox" : "environment_unknown";
  if (access === "without_entitlement") return "product_without_entitlement";
  if (purchase.provider === HOMEPORT) return "grant";
  if (status.isLifetime) return "lifetime";
  if (status.stale) return "renewal_awaited";
  return ACTIVE_CODES[status.status] ?? "subscription";
}

const ACTIVE_CODES: Partial<Record<PurchaseStatus["status"], PurchaseCode>> = {
  trialing: "trial",
  canceled: "canceled_not_ended",
  grace_period: "grace_period",
};

function endedCode({ purchase, status, isReplaced, provider }: OwnedPurchase, at: Date): PurchaseCode {
  if (isReplaced) return "replaced";
  if (purchase.provider === HOMEPORT) return "grant_ended";
  if (status.status === "revoked") return "refunded";
  if (status.status === "paused") return "paused";
  if (status.status === "billing_retry") return "payment_failed";
  if (!isRenewalOverdue(purchase, at)) return "expired";
  return provider.isConfigured ? "provider_silent" : "provider_not_configured";
}

type Text = (owned: OwnedPurchase, about: About) => string;

const TEXTS: Record<PurchaseCode, Text> = {
  subscription: ({ purchase, status }) =>
    `${nameOf(purchase)} gives access ${untilText(status)}${status.billingIssueDetectedAt ? " A charge has failed." : ""}`,
  trial: ({ purchase, status }) => `${nameOf(purchase)} is in a trial that gives access ${untilText(status)}`,
  canceled_not_ended: ({ purchase, status }) =>
    `${nameOf(purchase)} was canceled on ${timeText(status.canceledAt)} and gives access until ${timeText(status.accessEndsAt)}.`,
  grace_period: ({ purchase, status }) =>
    `A charge of ${nameOf(purchase)} failed on ${timeText(status.billingIssueDetectedAt)}. It gives access until ${timeText(status.accessEndsAt)}, while the store retries.`,
  renewal_awaited: ({ purchase, status }) =>
    `The renewal of ${nameOf(purchase)} was due on ${timeText(status.currentPeriodEndsAt)}, and its event has not arrived. It gives access until ${timeText(status.accessEndsAt)} meanwhile.`,
  lifetime: ({ purchase, status }) =>
    `${nameOf(purchase)} was bought on ${timeText(status.startedAt)}, gives access and does not end.`,
  grant: ({ purchase, status, grant }) =>
    `${quoted(purchase.entitlementIds)} was granted${grant ? byText(grant.granted) : ""}. The grant ${status.accessEndsAt ? `ends on ${timeText(status.accessEndsAt)}` : "does not end"}.`,
  mapping_changed: ({ purchase, outdated }) =>
    `${nameOf(purchase)} ${givesText(purchase)}, because its events were read before its product was mapped to ${quoted(outdated?.entitlementIds ?? [])}.`,
  product_without_entitlement: (owned, { entitlementId }) => {
    const { purchase, configured, status } = owned;
    const isOnce = status.status === "none";
    const what = isOnce ? "is a one-time purchase of a product that" : "is active, but its product";
    const meant = configured?.length === 0 ? " BILLING_PRODUCTS says so." : "";
    const apps =
      isOnce || entitlementId !== null
        ? ""
        : " Apps that check isActive give access, and those that check an entitlement do not.";
    return `${nameOf(purchase)} ${what} gives no entitlement.${meant}${apps}`;
  },
  sandbox: ({ purchase }) =>
    `${nameOf(purchase)} was bought in the sandbox, and only purchases of production count for this account.`,
  environment_unknown: ({ purchase }) =>
    `No event of ${nameOf(purchase)} says its environment, and only purchases of production count for this account.`,
  provider_silent: (owned) => {
    const { lastReceivedAt } = owned.provider;
    const name = providerName(owned.purchase.provider);
    const others = lastReceivedAt
      ? `The last event of ${name} arrived on ${timeText(lastReceivedAt)}.`
      : `Nothing of ${name} is among the newest events.`;
    return `${overdueText(owned)} ${others}`;
  },
  provider_not_configured: (owned) =>
    `${overdueText(owned)} The webhook of ${providerName(owned.purchase.provider)} is not configured, so none can arrive.`,
  payment_failed: ({ purchase, status }) =>
    `A charge of ${nameOf(purchase)} failed${onText(status.billingIssueDetectedAt)}, and access ended${onText(status.accessEndsAt)}. Access returns once the store has charged.`,
  paused: ({ purchase, status }) =>
    `${nameOf(purchase)} is paused${status.resumesAt ? ` until ${timeText(status.resumesAt)}` : ""}. Access ended${onText(status.accessEndsAt)}.`,
  refunded: ({ purchase, status }) =>
    `${nameOf(purchase)} ${status.revocationType === "FAMILY_REVOKE" ? "is no longer shared with the family" : `was refunded${onText(status.refundedAt)}`}. Access ended${onText(status.accessEndsAt)}.`,
  grant_ended: ({ purchase, status, grant }) => {
    const ended = grant?.ended ? `was ended${byText(grant.ended)}` : `ended${onText(status.accessEndsAt)}`;
    return `The grant of ${quoted(purchase.entitlementIds)} ${ended}.`;
  },
  expired: ({ purchase, status }) => {
    const why = status.expirationReason ?? status.cancelReason;
    const canceled = status.canceledAt ? ` It was canceled on ${timeText(status.canceledAt)}.` : "";
    return `${nameOf(purchase)} expired${onText(status.accessEndsAt)}${why ? ` (${why})` : ""}.${canceled}`;
  },
  replaced: ({ purchase, status }) =>
    `${nameOf(purchase)} was replaced by another purchase${onText(status.accessEndsAt)}.`,
  other_entitlement: ({ purchase }, { entitlementId }) =>
    `${nameOf(purchase)} ${givesText(purchase)}, not ${quoted([entitlementId ?? ""])}.`,
};

function overdueText({ purchase, status, provider, unanswered }: OwnedPurchase): string {
  const end = status.currentPeriodEndsAt;
  const sentences = [
    end === null
      ? `No event says when ${nameOf(purchase)} ends.`
      : `The renewal of ${nameOf(purchase)} was due on ${timeText(end)}, and no event has come of it.`,
    purchase.reconciledAt && `It was last compared with the provider on ${timeText(purchase.reconciledAt)}.`,
    provider.pausedUntil && `The provider limits requests: its API is paused until ${timeText(provider.pausedUntil)}.`,
    unanswered &&
      `The provider's API has not responded ${unanswered.attempts === 1 ? "once" : `${unanswered.attempts} times`}; the next request is due on ${timeText(unanswered.nextAttemptAt)}.`,
  ];
  return sentences.filter((sentence) => sentence !== null).join(" ");
}

function actionsOf(code: PurchaseCode, owned: OwnedPurchase): AccessAction[] {
  const { purchase, status, outdated } = owned;
  const page = `/console/billing/purchases/${purchase.id}`;
  const show = see("See how the purchase came to this state.", page, `homeport billing timeline ${purchase.id}`);
  const ask =
    owned.provider.isAsked && purchase.accountId ? [askProvider(purchase.provider, purchase.accountId, page)] : [];
  const manage = status.managementUrl
    ? [see("Send the customer the page on which they manage the subscription.", status.managementUrl, null)]
    : [];
  switch (code) {
    case "mapping_changed":
      return outdated ? [replay(outdated.id)] : [];
    case "product_without_entitlement":
    case "other_entitlement":
      return mapProduct(purchase.provider);
    case "sandbox":
      return [
        change(
          "Make the account a sandbox tester (BILLING_SANDBOX_TESTERS).",
          guideSection("connect-revenuecat"),
          null,
        ),
        show,
      ];
    case "grant_ended":
      return [grantAgain(purchase)];
    case "payment_failed":
    case "grace_period":
      return [...manage, ...ask, show];
    case "paused":
      return [...manage, show];
    case "provider_silent":
      return [
        ...ask,
        see("Look for the event in the provider's dashboard, and let it send the event again.", null, null),
        show,
      ];
    case "provider_not_configured":
      return [change("Configure the webhook.", connectionGuide(purchase.provider), null), ...ask];
    case "expired":
    case "refunded":
    case "renewal_awaited":
    case "environment_unknown":
      return [...ask, show];
    default:
      return [show];
  }
}

export const see = (text: string, path: string | null, command: string | null): AccessAction => ({
  text,
  path,
  command,
  role: "support",
});
export const change = (text: string, path: string | null, command: string | null): AccessAction => ({
  text,
  path,
  command,
  role: "admin",
});

export const replay = (eventId: string): AccessAction =>
  change("Apply the event again.", `/console/billing/events/${eventId}`, `homeport billing replay --event ${eventId}`);

export const askProvider = (provider: string, accountId: string, page: string | null): AccessAction =>
  change(`Ask ${providerName(provider)} about the account.`, page, `homeport billing reconcile --account ${accountId}`);

function mapProduct(provider: string): AccessAction[] {
  const where = provider === "revenuecat" ? "in RevenueCat's dashboard" : "in BILLING_PRODUCTS, and replay all events";
  const path = "/console/billing/products";
  return [change(`Map the product to the entitlement ${where}.`, path, "homeport billing products")];
}

/** Support may grant for a while. */
function grantAgain({ accountId, entitlementIds }: StoredPurchase): AccessAction {
  const entitlement = `'${(entitlementIds[0] ?? "").replaceAll("'", `'\\''`)}'`;
  const command = `homeport billing grant ${accountId} ${entitlement} --days 30 --reason TEXT`;
  return see("Grant the entitlement again.", `/console/accounts/${accountId}`, command);
}

/** What a provider is called, and the section of the billing guide that connects it. */
const PROVIDERS: Readonly<Record<string, { name: string; section: string }>> = {
  revenuecat: { name: "RevenueCat", section: "connect-revenuecat" },
  stripe: { name: "Stripe", section: "connect-stripe" },
  paddle: { name: "Paddle", section: "connect-paddle" },
  "app-store": { name: "the App Store", section: "connect-the-app-store" },
  "standard-webhooks": { name: "the billing provider", section: "use-another-provider" },
};

export const providerName = (provider: string): string => PROVIDERS[provider]?.name ?? provider;

/** A section of the billing guide in the console. */
export const guideSection = (section: string): string => `/console/settings/guides/billing#${section}`;

export const connectionGuide = (provider: string): string =>
  guideSection(PROVIDERS[provider]?.section ?? "use-another-provider");

/** The product and the store of a purchase. */
export const nameOf = ({ productId, store }: Pick<StoredPurchase, "productId" | "store">): string =>
  `${productId ?? "A purchase without a product"} (${store})`;

export const quoted = (ids: readonly string[]): string => ids.map((id) => `“${id}”`).join(", ");

const givesText = ({ entitlementIds }: StoredPurchase) =>
  entitlementIds.length === 0 ? "gives no entitlement" : `gives ${quoted(entitlementIds)}`;

function untilText({ accessEndsAt, willRenew }: PurchaseStatus): string {
  if (accessEndsAt === null) return "and has no end.";
  return `until ${timeText(accessEndsAt)}, ${willRenew ? "when it renews." : "and does not renew."}`;
}

function byText({ actor, name, at, reason }: Grant["granted"]): string {
  return ` on ${timeText(at)} by ${name ?? actor}${reason ? `: ${reason.replace(/\.$/, "")}` : ""}`;
}

/** An event with when it happened and when it was received. */
export function describeEvent({ type, occurredAt, receivedAt }: LastEvent): string {
  return `${type} of ${timeText(occurredAt)}, received on ${timeText(receivedAt)}`;
}

const onText = (time: Date | null) => (time ? ` on ${timeText(time)}` : "");

/** A time to the minute, in UTC. */
export function timeText(time: Date | null): string {
  return time ? `${time.toISOString().slice(0, 16).replace("T", " ")} UTC` : "an unknown day";
}
