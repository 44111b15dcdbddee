import { createHash } from "node:crypto";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { Email } from "../../platform/email";
import type { Operator } from "../../principal";
import { toCursor } from "../admin/event-batches";
import type { ProviderEvent } from "../events";
import { newPurchase } from "../inbox/apply";
import { decide, nameOf } from "../inbox/decide";
import { foldPurchases } from "../inbox/fold";
import { storeAndApply } from "../inbox/inbox";
import { nameAccounts } from "../inbox/name-accounts";
import { toRow } from "../inbox/store";
import type { StoredPurchase } from "../purchase-state";
import { findDifferences } from "../reconcile/place-snapshot";
import type { SourceDeps } from "../sources/source";
import { type ImportedPurchase, type ImportedPurchases, MAX_IMPORT_LINES, type PurchaseImportQuery } from "./schema";
import type { PurchaseOfLine } from "./source";
import { SOURCE_READERS } from "./sources";

type Deps = SourceDeps & Pick<Context, "dbNow" | "log" | "webhooks">;

/**
 * Reads the next purchases of a source, and stores those that are new or that differ. A repetition changes nothing, and an
 * import that was stopped continues at any position.
 * @throws AppError billing_api_not_configured, billing_api_failed, validation_failed
 */
export async function importPurchases(
  deps: Deps,
  operator: Operator,
  body: Uint8Array,
  query: PurchaseImportQuery,
): Promise<ImportedPurchases> {
  const texts = new TextDecoder().decode(body).split("\n");
  const lines = texts.flatMap((text, i) => (text.trim() === "" ? [] : { line: i + 1, text }));
  if (lines.length > MAX_IMPORT_LINES) {
    const detail = `At most ${MAX_IMPORT_LINES} lines a request`;
    throw new AppError("validation_failed", { errors: [{ pointer: "", code: "too_big", detail }] });
  }
  const { found, failures, retry, next } = await SOURCE_READERS[query.from](deps, query, lines);
  const planned = (await preview(deps, found, query)).map((one) => ({ preview: one, result: resultOf(deps, one) }));
  const count = (status: ImportedPurchase["status"]) => planned.filter(({ result }) => result.status === status).length;
  const details = { from: query.from, match: query.match, created: count("created"), updated: count("updated") };
  if (!query.dryRun && details.created + details.updated > 0) {
    // First, since each purchase has a transaction of its own: an import that is interrupted has its event, too.
    const event = { type: "billing_imported", target: "purchases", details } as const;
    await deps.db.$transaction((tx) => recordOperatorEvent(tx, deps.now(), operator, event));
  }
  // In one turn of the event loop: they are stored together.
  const imported = await Promise.all(planned.map((one) => (query.dryRun ? one.result : store(deps, one))));
  const failed = failures.map(({ line, id, failure }) => ({
    ...NOTHING,
    status: "failed" as const,
    line,
    id,
    failure,
  }));
  return { results: [...failed, ...imported], retry, nextCursor: next && toCursor(next) };
}

const NOTHING = { customer: null, store: null, productId: null, accountId: null, differences: [] };

/** A purchase of a source as it is stored and as its event would leave it; `after` null: the event is ignored. */
type Preview = {
  found: PurchaseOfLine;
  event: ProviderEvent;
  toPayload: ((eventId: string) => unknown) | null;
  before: StoredPurchase | null;
  after: StoredPurchase | null;
};

async function preview(deps: Deps, found: PurchaseOfLine[], query: PurchaseImportQuery): Promise<Preview[]> {
  const byId = await previewAll(
    deps,
    found.map((one) => ({ found: one })),
  );
  return query.match === "email" ? matchByEmail(deps, byId) : byId;
}

/** What an import does to a purchase. */
function resultOf(deps: Deps, { found, event, before, after }: Preview): ImportedPurchase {
  const result = {
    line: found.line,
    id: event.originalTransactionId,
    customer: event.appUserIds.at(-1) ?? null,
    store: event.store,
    productId: event.facts.productId,
    accountId: after?.accountId ?? null,
    differences: [] as ImportedPurchase["differences"],
    failure: null,
  };
  if (!after) return { ...result, status: "ignored" };
  const differences = before ? differencesOf(deps, before, after) : [];
  if (before && differences.length === 0) return { ...result, status: "unchanged" };
  return { ...result, differences, status: before ? "updated" : "created" };
}

/** Stores a purchase that is new or differs. */
async function store(deps: Deps, { preview, result }: { preview: Preview; result: ImportedPurchase }) {
  if (result.status === "ignored" || result.status === "unchanged") return result;
  const { found, event, toPayload } = preview;
  const eventId = eventIdOf(preview);
  const payload = toPayload?.(eventId) ?? null;
  const key = { provider: found.provider, eventId };
  const { status } = await storeAndApply(deps, { ...key, event, payload, receivedAt: deps.now() });
  if (status !== "failed") return result;
  const failure = `the event ${eventId} cannot be applied`;
  return { ...result, differences: [], status: "failed" as const, failure };
}

function differencesOf({ config, now }: Deps, before: StoredPurchase, after: StoredPurchase) {
  const differences = findDifferences(config, before, after, now());
  const named = after.appUserIds.filter((id) => !before.appUserIds.includes(id));
  if (before.accountId !== after.accountId) {
    differences.push({ field: "accountId", before: before.accountId, after: after.accountId });
  } else if (named.length > 0) {
    differences.push({ field: "appUserIds", before: before.appUserIds, after: after.appUserIds });
  }
  return differences;
}

/**
 * The id of an event: the same whenever the same state is imported over the same one. Some providers do not say since when a
 * state holds, so that it is dated by the import.
 */
function eventIdOf({ event, before }: Preview): string {
  const { environment, store, originalTransactionId, appUserIds, facts } = event;
  const { occurredAt, order: _, ...state } = facts;
  const text = JSON.stringify([
    environment,
    store,
    originalTransactionId,
    appUserIds,
    state,
    before?.lastEventAt ?? null,
  ]);
  const undated = text.replaceAll(occurredAt.toISOString(), "now");
  return `import:${createHash("sha256").update(undated).digest("base64url")}`;
}

/** Folds each purchase with its event, as storing the event will, and writes nothing. */
async function previewAll(
  deps: Pick<Deps, "db" | "now">,
  given: readonly { found: PurchaseOfLine; accountId?: string }[],
): Promise<Preview[]> {
  const { db, now } = deps;
  const made = given.map(({ found, accountId }) => found.toEvent(accountId));
  const named = await nameAccounts(
    db,
    made.map(({ event }) => event),
  );
  const decisions = named.map((event, i) => {
    const provider = given[i]?.found.provider ?? "";
    const row = toRow({ provider, eventId: "", event, payload: null, receivedAt: now() });
    return decide(row, event.facts);
  });
  const keys = decisions.flatMap((decision) => (decision.kind === "attach" ? decision.key : []));
  const ids = keys.map(({ originalTransactionId }) => originalTransactionId);
  const stored = await db.purchase.findMany({ where: { originalTransactionId: { in: ids } } });
  const existing = new Map(stored.map((purchase) => [nameOf(purchase), purchase]));
  const toFold = decisions.flatMap((decision) => {
    if (decision.kind !== "attach") return [];
    const none = newPurchase(decision.key, { accountId: null, appUserIds: [] });
    return { before: existing.get(nameOf(decision.key)) ?? none, newEvents: [decision.event] };
  });
  const unstored = toFold.flatMap(({ newEvents }) => newEvents);
  const folded = (await foldPurchases(db, toFold, unstored)).map((steps) => steps.at(-1)?.after ?? null);
  return given.map(({ found }, i): Preview => {
    const { event, toPayload } = made[i] as (typeof made)[number];
    const decision = decisions[i];
    if (decision?.kind !== "attach") return { found, event, toPayload, before: null, after: null };
    const after = folded.shift() ?? null;
    return { found, event, toPayload, before: existing.get(nameOf(decision.key)) ?? null, after };
  });
}

/** Names an account with the customer's email in the events that name none. Its email must be verified. */
async function matchByEmail(deps: Deps, previews: Preview[]): Promise<Preview[]> {
  const emailOf = ({ after, found }: Preview) =>
    after && after.accountId === null ? (Email.safeParse(found.email).data ?? null) : null;
  const emails = [...new Set(previews.flatMap((preview) => emailOf(preview) ?? []))];
  if (emails.length === 0) return previews;
  const where = { email: { in: emails }, emailVerifiedAt: { not: null } };
  const accounts = await deps.db.account.findMany({ where, select: { id: true, email: true } });
  const idOf = new Map(accounts.map(({ id, email }) => [email, id]));
  const matched = previews.flatMap((preview) => {
    const accountId = idOf.get(emailOf(preview) ?? "");
    return accountId === undefined ? [] : { preview, accountId };
  });
  const renamed = await previewAll(
    deps,
    matched.map(({ preview, accountId }) => ({ found: preview.found, accountId })),
  );
  const replacements = new Map(matched.map(({ preview }, i) => [preview, renamed[i] as Preview]));
  return previews.map((preview) => replacements.get(preview) ?? preview);
}
