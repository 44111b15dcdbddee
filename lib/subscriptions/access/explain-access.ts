import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { empty, join, sql } from "../../platform/db/sql";
import { readEmails } from "../../platform/find-account";
import { countRows } from "../../platform/lists";
import { listBillingProducts } from "../admin/billing-products";
import { BillingEventState } from "../admin/schema";
import { normalizeAppUserIds } from "../app-user-ids";
import { readStatusRules } from "../entitlement-rules";
import { configuredEntitlements, listGrants } from "../grants/grants";
import { LASTING_REASONS } from "../inbox/decide";
import { configuredProviders, findProvider, HOMEPORT } from "../providers/find-provider";
import { revenueCat } from "../providers/revenuecat";
import type { StoredPurchase } from "../purchase-state";
import { findReferences } from "../references";
import { endReplacedPurchases } from "../replacement";
import type { SubscriptionStatus } from "../schema";
import { openSources } from "../sources/find-source";
import { withStripeEntitlements } from "../status/account-status";
import { isConsumable, isRenewalOverdue, purchaseStatus } from "../status/purchase-status";
import { readStatus } from "../status/read-status";
import {
  askProvider,
  change,
  connectionGuide,
  describeEvent,
  guideSection,
  type LastEvent,
  nameOf,
  type OwnedPurchase,
  type ProviderState,
  providerName,
  quoted,
  reasonOf,
  replay,
  see,
  timeText,
} from "./purchase-reasons";
import { ACCESS_CODES, type AccessExplanation, type AccessQuery, type AccessReason, AccessReasonCode } from "./schema";

type Deps = Pick<Context, "billing" | "config" | "db" | "now">;

const MAX_REASONS = 20;
/** The newest purchases of the account that are looked at. */
const MAX_PURCHASES = 100;
/** The newest events of a purchase that are read again, to find out whether another configuration would change something. */
const MAX_READ_AGAIN = 5;
/** The newest deliveries of each state among which those of a provider are looked for. */
const MAX_SEARCHED = 10_000;
const MAX_GRANTS = 200;
const MAX_EVENTS = 5;

/** What every part of an answer is about. `ids`: by which events may name the account. */
type About = { account: Account; ids: string[]; entitlementId: string | null; at: Date };
type Account = { id: string; email: string; disabledAt: Date | null };

/**
 * Says whether an account has an entitlement, or any, and why: what it owns, what was received and when, what is missing, and
 * what to do. @throws AppError not_found
 */
export async function explainAccess(
  deps: Deps,
  accountId: string,
  { entitlement }: AccessQuery,
): Promise<AccessExplanation> {
  const entitlementId = entitlement ?? null;
  const account = await deps.db.account.findUnique({
    where: { id: accountId },
    select: { id: true, email: true, disabledAt: true, aliases: { select: { appUserId: true } } },
  });
  if (!account) throw new AppError("not_found");
  const { status } = await readStatus(deps, accountId); // links purchases that name the account
  const hasAccess =
    entitlementId === null
      ? status.isActive
      : status.entitlements.some(({ id, isActive }) => isActive && id === entitlementId);
  const ids = normalizeAppUserIds([accountId, ...account.aliases.map(({ appUserId }) => appUserId)]);
  const about: About = { account, ids, entitlementId, at: deps.now() };
  const lastEvent = (await readEvents(deps.db, about, "newest"))[0] ?? null;
  return {
    accountId,
    email: account.email,
    entitlementId,
    hasAccess,
    text: answerOf(account, status, hasAccess, entitlementId),
    reasons: await readReasons(deps, about, hasAccess, lastEvent),
    appUserIds: ids,
    lastEventAt: lastEvent?.receivedAt ?? null,
    checkedAt: about.at,
  };
}

function answerOf({ email }: Account, status: SubscriptionStatus, hasAccess: boolean, entitlementId: string | null) {
  if (entitlementId !== null) return `${email} ${hasAccess ? "has" : "does not have"} ${quoted([entitlementId])}.`;
  const has = status.entitlements.filter(({ isActive }) => isActive).map(({ id }) => id);
  if (has.length > 0) return `${email} has access: ${quoted(has)}.`;
  return `${email} has ${hasAccess ? "an active subscription, and no entitlement" : "no access"}.`;
}

async function readReasons(deps: Deps, about: About, hasAccess: boolean, lastEvent: FoundEvent | null) {
  const { account, entitlementId } = about;
  const providers = await readProviders(deps, !hasAccess);
  const owned = await readOwned(deps, about, providers);
  const ofPurchases = owned.flatMap((one) => reasonOf(one, about) ?? []);
  const reasons = [
    ...(account.disabledAt ? [disabled(account, account.disabledAt)] : []),
    ...withoutRepeats(ofPurchases, owned),
    ...(await readEvents(deps.db, about, "unapplied")).map(unapplied),
  ];
  if (hasAccess) {
    const isShown = ({ code }: AccessReason) => ACCESS_CODES.has(code) || BESIDE_ACCESS.has(code);
    const isDefect = ({ code }: AccessReason) => entitlementId === null && DEFECTS.has(code);
    return sorted(reasons.filter((reason) => isShown(reason) || isDefect(reason)));
  }
  const used = new Set(owned.flatMap(({ purchase: { provider } }) => (provider === HOMEPORT ? [] : provider)));
  const hasBought = used.size > 0;
  return sorted([
    ...reasons,
    ...[...providers].filter(([name]) => !hasBought || used.has(name)).flatMap(lostDeliveries),
    ...(await elsewhere(deps, about)),
    ...(await unknownEntitlement(deps, entitlementId)),
    ...(hasBought
      ? ofPurchases.length === 0
        ? [nothingGives(about)]
        : []
      : await missing(deps, about, providers, lastEvent)),
  ]);
}

/** What is told although the account has access. */
const BESIDE_ACCESS: ReadonlySet<AccessReasonCode> = new Set(["account_disabled", "event_failed", "event_waiting"]);
/** Why an account with access may have no entitlement. */
const DEFECTS: ReadonlySet<AccessReasonCode> = new Set(["mapping_changed", "product_without_entitlement"]);

const sorted = (reasons: AccessReason[]): AccessReason[] =>
  reasons
    .toSorted((a, b) => AccessReasonCode.options.indexOf(a.code) - AccessReasonCode.options.indexOf(b.code))
    .slice(0, MAX_REASONS);

/** Of the purchases of one product for which the same is true, the newest. */
function withoutRepeats(reasons: AccessReason[], owned: readonly OwnedPurchase[]): AccessReason[] {
  const products = new Map(owned.map(({ purchase }) => [purchase.id, purchase.productId]));
  const keyed = reasons.map((reason) => [`${reason.code} ${products.get(reason.purchaseId ?? "")}`, reason] as const);
  return [...new Map(keyed.toReversed()).values()].toReversed();
}

function reason(code: AccessReasonCode, text: string, given: Partial<AccessReason> = {}): AccessReason {
  return { code, text, purchaseId: null, eventId: null, accountId: null, actions: [], ...given };
}

const disabled = ({ id }: Account, at: Date) =>
  reason("account_disabled", `The account has been disabled since ${timeText(at)}: its owner cannot sign in.`, {
    actions: [change("Enable the account.", `/console/accounts/${id}`, `homeport accounts enable ${id}`)],
  });

type Providers = ReadonlyMap<string, ProviderState>;
const UNKNOWN_PROVIDER: ProviderState = {
  isConfigured: false,
  isAsked: false,
  lastReceivedAt: null,
  pausedUntil: null,
  sweep: null,
};

/** Every provider whose webhook or API is configured, or that has sent one of the newest events, if these are read. */
async function readProviders({ billing, config, db, now }: Deps, readsDeliveries: boolean): Promise<Providers> {
  const deliveries = readsDeliveries ? await readDeliveries(db) : [];
  const configured = configuredProviders(config);
  const asked = openSources({ billing }).map(({ provider }) => provider);
  const names = [...new Set([...configured, ...asked, ...deliveries.map(({ provider }) => provider)])];
  const ofThese = { provider: { in: names } };
  const pauses = await db.billingApiPause.findMany({ where: { ...ofThese, until: { gt: now() } } });
  const sweeps = await db.billingSweep.findMany({ where: ofThese });
  return new Map(
    names.map((name) => [
      name,
      {
        isConfigured: configured.includes(name),
        isAsked: asked.includes(name),
        lastReceivedAt: deliveries.find(({ provider }) => provider === name)?.lastReceivedAt ?? null,
        pausedUntil: pauses.find(({ provider }) => provider === name)?.until ?? null,
        sweep: sweeps.find(({ provider }) => provider === name) ?? null,
      },
    ]),
  );
}

/** When each provider delivered the last of the newest events. */
function readDeliveries(db: Tx): Promise<{ provider: string; lastReceivedAt: Date }[]> {
  const ofStates = BillingEventState.options.map(
    (state) => sql`(SELECT provider, "eventId", type, "receivedAt" FROM "BillingEvent"
      WHERE state = ${state}::"BillingEventState" ORDER BY "receivedAt" DESC LIMIT ${MAX_SEARCHED}::integer)`,
  );
  return db.$queryRaw`
    SELECT provider, max("receivedAt") AS "lastReceivedAt" FROM (${join(ofStates, " UNION ALL ")}) AS event
    WHERE type <> 'IMPORT' AND "eventId" !~ '^(assignment|import|snapshot):' GROUP BY provider`;
}

async function readOwned(deps: Deps, { account, at }: About, providers: Providers): Promise<OwnedPurchase[]> {
  const { config, db } = deps;
  const found = await db.purchase.findMany({
    where: { accountId: account.id },
    include: {
      events: {
        select: { type: true, occurredAt: true, receivedAt: true },
        orderBy: [{ occurredAt: "desc" }, { id: "desc" }],
        take: 1,
      },
    },
    orderBy: { id: "desc" }, // with a limit, PostgreSQL could read by the id alone
  });
  const rules = (await readStatusRules(db, deps, found))(account.id);
  const stored = withStripeEntitlements(found, at, rules).toSorted(
    (a, b) => Number(isConsumable(a)) - Number(isConsumable(b)),
  );
  const isGrant = ({ provider }: { provider: string }) => provider === HOMEPORT;
  const grants = stored.some(isGrant)
    ? (await listGrants(deps, { account: account.id, limit: MAX_GRANTS })).grants
    : [];
  const ended = endReplacedPurchases(stored);
  return Promise.all(
    stored.slice(0, MAX_PURCHASES).map(async ({ events, ...purchase }, i): Promise<OwnedPurchase> => {
      const effective = ended[i] ?? purchase;
      const status = purchaseStatus(effective, at, rules);
      const { provider, productId } = purchase;
      const mayBeOutdated = status.status === "none" || status.isActive;
      return {
        purchase,
        status,
        isReplaced: effective.endedAt?.getTime() !== purchase.endedAt?.getTime(),
        lastEvent: events[0] ?? null,
        outdated: mayBeOutdated ? await findOutdated(deps, purchase) : null,
        configured: config.BILLING_PRODUCTS.get(productId ?? "")?.slice() ?? null,
        grant: grants.find(({ id }) => id === purchase.id) ?? null,
        unanswered: isRenewalOverdue(purchase, at) ? await findUnanswered(deps, purchase) : null,
        provider: providers.get(provider) ?? UNKNOWN_PROVIDER,
      };
    }),
  );
}

/** The requests about a purchase to which the provider's API has not responded. */
async function findUnanswered({ billing, db }: Deps, { id }: StoredPurchase): Promise<OwnedPurchase["unanswered"]> {
  const references = await findReferences(db, openSources({ billing }), [id]);
  if (references.length === 0) return null;
  return db.billingReconcileJob.findFirst({
    where: { OR: references, attempts: { gt: 0 } },
    select: { attempts: true, nextAttemptAt: true },
  });
}

/** Finds an event that would give an entitlement that its purchase does not, if this configuration had read it. */
async function findOutdated({ config, db }: Deps, { id, provider, entitlementIds: gives }: StoredPurchase) {
  const reader = findProvider(provider);
  if (!reader || config.BILLING_PRODUCTS.size === 0) return null;
  const events = await db.billingEvent.findMany({
    where: { purchaseId: id, state: "processed" },
    select: { id: true, payload: true, receivedAt: true },
    orderBy: [{ occurredAt: "desc" }, { id: "desc" }],
    take: MAX_READ_AGAIN,
  });
  for (const { id: eventId, payload, receivedAt } of events) {
    if (payload === null) continue;
    const { entitlementIds } = reader.read(payload, receivedAt, config.BILLING_PRODUCTS).facts;
    if (entitlementIds?.some((one) => !gives.includes(one))) return { id: eventId, entitlementIds };
  }
  return null;
}

type FoundEvent = LastEvent & {
  id: string;
  provider: string;
  state: string;
  reason: string | null;
  purchaseId: string | null;
};

/** The newest event that names the account, or the newest of those that wait or have failed. */
function readEvents(db: Tx, { account, ids }: About, which: "newest" | "unapplied"): Promise<FoundEvent[]> {
  const isUnapplied = which === "unapplied" ? sql`AND state IN ('received', 'failed')` : empty;
  return db.$queryRaw`
    SELECT id::text, provider, type, state::text, reason, "occurredAt", "receivedAt", "purchaseId"::text FROM "BillingEvent"
    WHERE id = ANY(ARRAY(
      SELECT id FROM "BillingEvent" WHERE "accountId" = ${account.id}::uuid
      UNION SELECT id FROM "BillingEvent" WHERE "appUserIds" && ${ids}::text[]
    )) AND provider <> ${HOMEPORT} ${isUnapplied}
    ORDER BY "receivedAt" DESC, id DESC LIMIT ${which === "newest" ? 1 : MAX_EVENTS}::integer`;
}

function unapplied(event: FoundEvent): AccessReason {
  const { id: eventId, purchaseId, provider, state, reason: why } = event;
  const what = `${describeEvent(event)} from ${providerName(provider)},`;
  const given = { eventId, purchaseId };
  if (state === "received") {
    const actions = [showEvent("Wait: the service applies it.", eventId), replay(eventId)];
    return reason("event_waiting", `${what} is stored and not applied yet.`, { ...given, actions });
  }
  const text = `${what} could not be applied${why ? ` (${why})` : ""}.`;
  const isLasting = LASTING_REASONS.has(why ?? "");
  const mend = isLasting ? showEvent("See what the event lacks, and what to do.", eventId) : replay(eventId);
  return reason("event_failed", text, { ...given, actions: [mend] });
}

const showEvent = (text: string, id: string) =>
  see(text, `/console/billing/events/${id}`, `homeport billing show ${id}`);

type NamedPurchase = Pick<StoredPurchase, "id" | "productId" | "store" | "accountId" | "entitlementIds">;

/** Purchases whose events name the account, and that belong to another one, or to none. */
async function elsewhere({ db }: Deps, { account, ids, entitlementId }: About): Promise<AccessReason[]> {
  const found = await db.$queryRaw<NamedPurchase[]>`
    SELECT purchase.id::text, "productId", store, purchase."accountId"::text, "entitlementIds" FROM "Purchase" AS purchase
    WHERE purchase.id = ANY(ARRAY(
      SELECT "purchaseId" FROM "BillingEvent" WHERE "appUserIds" && ${ids}::text[] AND "purchaseId" IS NOT NULL
      UNION SELECT id FROM "Purchase" WHERE "appUserIds" && ${ids}::text[]
    )) AND purchase."accountId" IS DISTINCT FROM ${account.id}::uuid
    ORDER BY purchase.id DESC LIMIT ${MAX_REASONS}::integer`;
  const emails = await readEmails(
    { db },
    found.map(({ accountId }) => accountId),
  );
  const isAsked = ({ entitlementIds: gives }: NamedPurchase) =>
    entitlementId === null || gives.length === 0 || gives.includes(entitlementId);
  return found.filter(isAsked).map((purchase) => {
    const { id: purchaseId, accountId } = purchase;
    const page = `/console/billing/purchases/${purchaseId}`;
    if (accountId === null) {
      const assign = `homeport billing assign --purchase ${purchaseId} --account ${account.id} --reason TEXT`;
      const text = `${nameOf(purchase)} names the account, and belongs to none: its customer has several ids.`;
      return reason("without_account", text, { purchaseId, actions: [change("Assign the purchase.", page, assign)] });
    }
    const text = `${nameOf(purchase)} belongs to another account, ${emails.get(accountId)} (${accountId}), although an event names this one.`;
    return reason("other_account", text, {
      purchaseId,
      accountId,
      actions: [
        see("See the other account.", `/console/accounts/${accountId}`, `homeport accounts why ${accountId}`),
        see("See which event named its owner.", page, `homeport billing timeline ${purchaseId}`),
        see("Let the customer restore the purchase in the app, signed in to this account.", null, null),
      ],
    });
  });
}

async function unknownEntitlement(deps: Deps, entitlementId: string | null): Promise<AccessReason[]> {
  const configured = configuredEntitlements(deps.config);
  if (entitlementId === null || configured.includes(entitlementId)) return [];
  const { products } = await listBillingProducts(deps, {});
  const known = [...new Set([...configured, ...products.flatMap(({ entitlementIds }) => entitlementIds)])].toSorted();
  if (known.length === 0 || known.includes(entitlementId)) return [];
  const text = `No product gives ${quoted([entitlementId])}. Known entitlements: ${quoted(known)}.`;
  const actions = [see("See what each product gives.", "/console/billing/products", "homeport billing products")];
  return [reason("entitlement_unknown", text, { actions })];
}

const nothingGives = ({ entitlementId }: About) =>
  reason("no_purchase", `Nothing that the account has bought gives ${quoted([entitlementId ?? ""])}.`);

/** Why an account without purchases has none: what did not arrive. */
async function missing(deps: Deps, about: About, providers: Providers, lastEvent: FoundEvent | null) {
  const { account, ids } = about;
  // The others know a purchase by its transaction alone.
  const ask = providers.get(revenueCat.name)?.isAsked ? [askProvider(revenueCat.name, account.id, null)] : [];
  const configured = [...providers].filter(([, { isConfigured }]) => isConfigured);
  if (configured.length === 0) {
    const text = "No webhook of a billing provider is configured, so no purchase can arrive.";
    return [
      reason("provider_not_configured", text, {
        actions: [change("Configure the webhook.", guideSection("connect-revenuecat"), null), ...ask],
      }),
    ];
  }
  const silent = configured.filter(([, { lastReceivedAt }]) => lastReceivedAt === null).map(([name]) => name);
  // The default provider counts as configured, although only others may be in use.
  const isUsed = silent.length < configured.length;
  const isApplied = lastEvent?.state === "processed" || lastEvent?.state === "ignored"; // else it is a reason of its own
  return [
    ...(lastEvent === null ? [nobodyNames(ids, ask)] : isApplied ? [noPurchase(lastEvent, ask)] : []),
    ...silent.filter((name) => !isUsed || name !== revenueCat.name).map(noDeliveries),
    ...(await unlinkedPurchases(deps, account)),
  ];
}

function nobodyNames(ids: string[], ask: AccessReason["actions"]): AccessReason {
  const [own, ...old] = ids;
  const olds = old.length > 0 ? `, nor by its old ${old.length === 1 ? "id" : "ids"} ${old.join(", ")}` : "";
  const login = see(
    "Check that the app passes the account's id to the provider.",
    guideSection("connect-revenuecat"),
    null,
  );
  const path = "/console/settings/guides/moving-in";
  const moved = change("If the customer has bought with another id before, import the account with it.", path, null);
  const actions = [...ask, login, ...(old.length === 0 ? [moved] : [])];
  return reason("no_event", `No event names the account by its id ${own}${olds}.`, { actions });
}

function noPurchase(event: FoundEvent, ask: AccessReason["actions"]): AccessReason {
  const { id: eventId, state, reason: why } = event;
  const text = `No event that names the account is of a purchase. The last one: ${describeEvent(event)}, ${state}${why ? ` (${why})` : ""}.`;
  return reason("no_purchase", text, { eventId, actions: [showEvent("See the event.", eventId), ...ask] });
}

/** What a provider's API says of its deliveries: whether some did not arrive, and whether it can be asked. */
function lostDeliveries([provider, { sweep }]: [string, ProviderState]): AccessReason[] {
  if (sweep === null) return [];
  const name = providerName(provider);
  const found = `The last search of the events that ${name} has sent, on ${timeText(sweep.finishedAt)}, found ${sweep.lastFound} that had not arrived.`;
  const failed = `The events that ${name} has sent cannot be read from its API: ${sweep.failure}`;
  const key = change("Check the API key and what it may read.", guideSection("reconcile-with-the-provider"), null);
  return [
    ...(sweep.lastFound > 0 ? [reason("deliveries_lost", found, { actions: [lookAtDeliveries(provider)] })] : []),
    ...(sweep.failure !== null ? [reason("provider_unreachable", failed, { actions: [key] })] : []),
  ];
}

function lookAtDeliveries(provider: string) {
  const text =
    "See in the provider's dashboard what its deliveries get. With a wrong secret it is 401, and the log has webhook_unauthorized.";
  return change(text, connectionGuide(provider), null);
}

function noDeliveries(provider: string): AccessReason {
  const text = `The webhook of ${providerName(provider)} is configured, and none of the newest events is from it.`;
  return reason("no_deliveries", text, { actions: [lookAtDeliveries(provider)] });
}

/** Purchases that may be the customer's. Leaves out those of deleted accounts. */
async function unlinkedPurchases({ db }: Deps, { id }: Account): Promise<AccessReason[]> {
  const count = await countRows(
    db,
    sql`SELECT 1 FROM (SELECT "appUserIds" FROM "Purchase" WHERE "accountId" IS NULL LIMIT ${MAX_SEARCHED}::integer) AS unlinked
      WHERE "appUserIds"[1] IS NULL OR "appUserIds"[1] NOT LIKE 'deleted:%'`,
  );
  if (count === 0) return [];
  const text = `${count === 1 ? "One purchase belongs" : `${count} purchases belong`} to no account. One may be the customer's.`;
  const assign = `homeport billing assign --purchase ID --account ${id} --reason TEXT`;
  return [
    reason("unlinked_purchases", text, {
      actions: [
        see(
          "Look for the customer's transaction.",
          "/console/billing?unlinked=true",
          "homeport billing list --unlinked",
        ),
        change("Assign the purchase to the account.", null, assign),
      ],
    }),
  ];
}
