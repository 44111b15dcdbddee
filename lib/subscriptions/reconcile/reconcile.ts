import type { Context } from "../../context";
import type { WebhookRecorder } from "../../webhooks/outbox";
import { applyEvent, storeNewEvent } from "../inbox/inbox";
import { nameAccounts } from "../inbox/name-accounts";
import type { Source, SourceDeps } from "../sources/source";
import { isSnapshot, isUpToDate, placeSnapshot, type SnapshotEvent } from "./place-snapshot";

export type ReconcileDeps = SourceDeps & Pick<Context, "dbNow" | "log"> & { webhooks: WebhookRecorder };

/**
 * The number of purchases in the provider's response, and of those corrected. `retryAfterSeconds` is set if a purchase
 * is past its expiry and may still be renewed: it should be reconciled again then.
 */
export type Reconciled = { known: number; corrected: number; retryAfterSeconds?: number };

const MAX_RETRY_AFTER_SECONDS = 15 * 60;

/**
 * Compares the purchases of a reference with the provider's API, and corrects those that differ. A correction is an event of
 * type SNAPSHOT, which is stored and folded as deliveries are.
 * @throws BillingApiError, AppError billing_api_failed
 */
export async function reconcile(deps: ReconcileDeps, source: Source, reference: string): Promise<Reconciled> {
  const requestedAt = deps.now(); // events during the request are newer than its response
  const result: Reconciled = { known: 0, corrected: 0 };
  for (const { toEvent } of await source.readPurchases(deps, reference, requestedAt)) {
    const { event: read, toPayload } = toEvent();
    const [event = read] = await nameAccounts(deps.db, [read]);
    if (!isSnapshot(event)) continue;
    result.known += 1;
    for (const { purchase, snapshot, secondsLeft } of await placeSnapshot(deps, source.provider, event, requestedAt)) {
      if (secondsLeft) {
        result.retryAfterSeconds = Math.min(secondsLeft, result.retryAfterSeconds ?? MAX_RETRY_AFTER_SECONDS);
      }
      if (purchase && isUpToDate(deps.config, purchase, snapshot, requestedAt)) continue;
      const eventId = `snapshot:${snapshot.store}:${snapshot.originalTransactionId}:${requestedAt.getTime()}`;
      const payload = toPayload?.(eventId) ?? null;
      if (await applyCorrection(deps, { provider: source.provider, eventId, payload }, snapshot, requestedAt)) {
        result.corrected += 1;
      }
    }
  }
  return result;
}

type Stored = { provider: string; eventId: string; payload: unknown };

async function applyCorrection(deps: ReconcileDeps, stored: Stored, event: SnapshotEvent, receivedAt: Date) {
  const { status } = await applyEvent(deps, await storeNewEvent(deps, { ...stored, event, receivedAt }));
  return status === "processed";
}
