import type { Logger } from "pino";
import { databaseTimeIn } from "../platform/db/clock";
import type { Prisma, PrismaClient } from "../platform/db/generated/client";
import { backoffSeconds } from "../platform/db/queue";
import type { Tx } from "../platform/db/transaction";
import type { AllowedNetworks } from "../platform/outbound";
import { type PostResult, postMessage } from "../platform/outbound";
import type { ClaimedDelivery } from "./claim-delivery";
import { signWebhook } from "./signature";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The delays after the first attempt and each further one (Standard Webhooks 1.0.0, "Sending reliability"). */
const RETRY_DELAYS_SECONDS = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;
const MAX_RETRY_AFTER_SECONDS = 24 * HOUR;
/** The statuses whose Retry-After counts. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/**
 * Returns the seconds until the next attempt after one that failed; null if it was the last. `random` is from 0 to 1; less
 * than 1 makes the delay up to a tenth shorter.
 */
function retryDelaySeconds(
  { status, retryAfterSeconds }: Pick<PostResult, "status" | "retryAfterSeconds">,
  { attempts, random }: { attempts: number; random: number },
): number | null {
  if (attempts > RETRY_DELAYS_SECONDS.length) return null;
  const scheduled = backoffSeconds(RETRY_DELAYS_SECONDS, attempts, 0.8 + 0.2 * random);
  const asked = status !== null && BUSY_STATUSES.has(status) ? (retryAfterSeconds ?? 0) : 0;
  return Math.ceil(Math.max(scheduled, Math.min(asked, MAX_RETRY_AFTER_SECONDS)));
}

/** An endpoint that has failed for this long, without a success, is disabled: five days. */
const MAX_FAILING_MS = 5 * 24 * 60 * 60 * 1000;
/** "The endpoint is gone": the receiver asks for no more (Standard Webhooks 1.0.0). */
const GONE = 410;

type AttemptOutcome = {
  state: "delivered" | "pending" | "failed";
  /** Until the next attempt; null without one. */
  delaySeconds: number | null;
  /** Why the endpoint is disabled; null if it is not. */
  disable: "gone" | "failing" | null;
};

/** Decides what follows from an attempt. `random`, from 0 to 1, spreads the next attempts. */
function outcomeOf(
  result: Pick<PostResult, "status" | "retryAfterSeconds">,
  { attempts, failingSince, now, random }: { attempts: number; failingSince: Date | null; now: Date; random: number },
): AttemptOutcome {
  const { status } = result;
  if (status !== null && status >= 200 && status < 300)
    return { state: "delivered", delaySeconds: null, disable: null };
  if (status === GONE) return { state: "failed", delaySeconds: null, disable: "gone" };
  const isFailing = failingSince !== null && now.getTime() - failingSince.getTime() >= MAX_FAILING_MS;
  const delaySeconds = retryDelaySeconds(result, { attempts, random });
  return { state: delaySeconds === null ? "failed" : "pending", delaySeconds, disable: isFailing ? "failing" : null };
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
  const { endpointId, eventId, attempts, claimedAt: at, failingSince } = claimed;
  const attempt = await send(deps, claimed);
  const outcome = outcomeOf(attempt, { attempts, failingSince, now: at, random: Math.random() });
  if (outcome.state !== "delivered") {
    const { status, error } = attempt;
    deps.log.warn(
      { eventId, endpointId, attempts, status, error, state: outcome.state },
      "a webhook was not delivered",
    );
  }
  await deps.db.$transaction((tx) => store(deps, tx, claimed, attempt, outcome));
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

/** The secrets to sign with, as far as they can be decrypted. */
async function decryptSecrets({ decrypt }: DeliverDeps, claimed: ClaimedDelivery): Promise<string[]> {
  const decrypted = await Promise.allSettled(
    validSecrets(claimed).map((stored) => decrypt(claimed.endpointId, stored)),
  );
  return decrypted.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

function validSecrets({ secret, previousSecret, previousSecretExpiresAt, claimedAt }: ClaimedDelivery): string[] {
  const isPreviousValid = previousSecretExpiresAt !== null && previousSecretExpiresAt > claimedAt;
  return previousSecret !== null && isPreviousValid ? [secret, previousSecret] : [secret];
}

async function store(
  deps: DeliverDeps,
  tx: Tx,
  claimed: ClaimedDelivery,
  attempt: PostResult,
  outcome: AttemptOutcome,
) {
  const { eventId, endpointId, leaseUntil, claimedAt, failingSince, url } = claimed;
  const { state, delaySeconds, disable } = outcome;
  const { status, body, error, durationMs } = attempt;
  const result = { state, responseStatus: status, responseBody: body, error, durationMs };
  const nextAttemptAt = delaySeconds === null ? null : await databaseTimeIn({ ...deps, db: tx }, delaySeconds);
  const { count: stored } = await tx.webhookDelivery.updateMany({
    where: { eventId, endpointId, nextAttemptAt: leaseUntil },
    data: { ...result, nextAttemptAt },
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
  if (disable === null) return;
  const { count: disabled } = await tx.webhookEndpoint.updateMany({
    where: { ...endpoint, disabledAt: null, ...(disable === "gone" ? {} : { failingSince }) },
    data: { disabledAt: claimedAt, disabledReason: disable },
  });
  if (disabled > 0) await deps.onDisabled(tx, { ...endpoint, reason: disable });
}
