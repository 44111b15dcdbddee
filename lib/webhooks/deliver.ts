import type { Logger } from "pino";
import { databaseTimeIn } from "../platform/db/clock";
import type { Prisma, PrismaClient } from "../platform/db/generated/client";
import { backoffSeconds } from "../platform/db/queue";
import type { Tx } from "../platform/db/transaction";
import { type AllowedNetworks, type PostResult, postMessage } from "../platform/outbound";
import type { ClaimedDelivery } from "./claim-delivery";
import { signWebhook } from "./signature";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The delays after the first attempt and each further one (Standard Webhooks 1.0.0, "Sending reliability"). */
const RETRY_DELAYS_SECONDS = [5, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)];
const MAX_RETRY_AFTER_SECONDS = 24 * HOUR;
/** The statuses whose Retry-After counts. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/** An endpoint that has failed for this long, without a success, is disabled: five days. */
const MAX_FAILING_MS = 5 * 24 * 60 * 60 * 1000;
/** "The endpoint is gone": the receiver asks for no more (Standard Webhooks 1.0.0). */
const GONE = 410;

/**
 * Returns the seconds until the next attempt after one that failed; null if it was the last. The delay is up to a tenth
 * shorter than the schedule says, so that deliveries that failed together are not attempted together.
 */
function retryDelaySeconds({ status, retryAfterSeconds }: PostResult, attempts: number): number | null {
  if (status === GONE || attempts > RETRY_DELAYS_SECONDS.length) return null;
  const scheduled = backoffSeconds(RETRY_DELAYS_SECONDS, attempts, 0.8 + 0.2 * Math.random());
  const asked = status !== null && BUSY_STATUSES.has(status) ? (retryAfterSeconds ?? 0) : 0;
  return Math.ceil(Math.max(scheduled, Math.min(asked, MAX_RETRY_AFTER_SECONDS)));
}

/** An endpoint that is disabled because it does not take its deliveries. */
export type DisabledEndpoint = { id: string; url: string; reason: "gone" | "failing" };

export type DeliverDeps = {
  allowed: AllowedNetworks;
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  log: Pick<Logger, "warn">;
  userAgent: string;
  /** Decrypts an endpoint's secret. */
  decrypt: (endpointId: string, stored: string) => Promise<string>;
  /** Tells the operators, in the transaction that disables the endpoint. */
  onDisabled: (tx: Tx, endpoint: DisabledEndpoint) => Promise<void>;
};

/** The attempt of a delivery that cannot be signed: NEXTAUTH_SECRET was replaced without the old one. */
const NOT_SIGNED: PostResult = {
  status: null,
  body: null,
  error: "The endpoint's secret cannot be decrypted",
  retryAfterSeconds: null,
  durationMs: 0,
};

/** Attempts a claimed delivery, and stores how it ended. */
export async function deliver(deps: DeliverDeps, claimed: ClaimedDelivery): Promise<void> {
  const { endpointId, eventId, attempts } = claimed;
  const result = await send(deps, claimed);
  const { status, error } = result;
  const isDelivered = status !== null && status >= 200 && status < 300;
  const delaySeconds = isDelivered ? null : retryDelaySeconds(result, attempts);
  const pendingOrFailed = delaySeconds === null ? "failed" : "pending";
  const state = isDelivered ? "delivered" : pendingOrFailed;
  if (!isDelivered)
    deps.log.warn({ eventId, endpointId, attempts, status, error, state }, "a webhook was not delivered");
  await deps.db.$transaction((tx) => store(deps, tx, claimed, { ...result, state, delaySeconds }));
}

async function send(deps: DeliverDeps, claimed: ClaimedDelivery): Promise<PostResult> {
  const { type, data, occurredAt, eventId, url, claimedAt: at } = claimed;
  const secrets = await decryptSecrets(deps, claimed);
  if (secrets.length === 0) return NOT_SIGNED;
  const body = JSON.stringify({ type, timestamp: occurredAt.toISOString(), data });
  const headers = {
    "content-type": "application/json",
    "user-agent": deps.userAgent,
    ...signWebhook({ id: eventId, at, body }, secrets),
  };
  return postMessage({ url, headers, body }, deps.allowed);
}

/** The valid secrets, as far as they can be decrypted. */
async function decryptSecrets({ decrypt }: DeliverDeps, claimed: ClaimedDelivery): Promise<string[]> {
  const { endpointId, secret, previousSecret, previousSecretExpiresAt, claimedAt } = claimed;
  const isPreviousValid = previousSecretExpiresAt !== null && previousSecretExpiresAt > claimedAt;
  const stored = previousSecret !== null && isPreviousValid ? [secret, previousSecret] : [secret];
  const decrypted = await Promise.allSettled(stored.map((one) => decrypt(endpointId, one)));
  return decrypted.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

type Attempt = PostResult & { state: "delivered" | "pending" | "failed"; delaySeconds: number | null };

async function store(deps: DeliverDeps, tx: Tx, claimed: ClaimedDelivery, attempt: Attempt): Promise<void> {
  const { eventId, endpointId, leaseUntil, claimedAt, failingSince, url } = claimed;
  const { state, delaySeconds, status, body, error, durationMs } = attempt;
  const nextAttemptAt = delaySeconds === null ? null : await databaseTimeIn({ ...deps, db: tx }, delaySeconds);
  const { count: stored } = await tx.webhookDelivery.updateMany({
    where: { eventId, endpointId, nextAttemptAt: leaseUntil },
    data: { state, responseStatus: status, responseBody: body, error, durationMs, nextAttemptAt },
  });
  if (stored === 0) return; // an operator has queued it again, or deleted the endpoint
  // Since the claim, another delivery may have succeeded, and an operator may have corrected the URL.
  const endpoint = { id: endpointId, url };
  if (state === "delivered") {
    const where = { ...endpoint, failingSince: { not: null } };
    await tx.webhookEndpoint.updateMany({ where, data: { failingSince: null } });
    return;
  }
  const where = { ...endpoint, failingSince: null };
  await tx.webhookEndpoint.updateMany({ where, data: { failingSince: claimedAt } });
  const reason = status === GONE ? "gone" : "failing";
  const isFailing = failingSince !== null && claimedAt.getTime() - failingSince.getTime() >= MAX_FAILING_MS;
  if (reason === "failing" && !isFailing) return;
  const { count: disabled } = await tx.webhookEndpoint.updateMany({
    where: { ...endpoint, disabledAt: null, ...(reason === "gone" ? {} : { failingSince }) },
    data: { disabledAt: claimedAt, disabledReason: reason },
  });
  if (disabled > 0) await deps.onDisabled(tx, { ...endpoint, reason });
}
