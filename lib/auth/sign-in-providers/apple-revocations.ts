import type { Context } from "../../context";
import {
  backoffSeconds,
  type Consumer,
  createConsumer,
  createLeaseQueue,
  type Lease,
  type LeaseQueue,
} from "../../platform/db/queue";
import { postToApple } from "./apple-request";
import { type AppleToken, readAppleToken } from "./apple-tokens";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "log" | "now">;
/** `id` was the identity's. */
type Row = { id: string; refreshToken: string; expiresAt: Date };

const MAX_CONCURRENT = 2;
/** Longer than any attempt. */
const LEASE_SECONDS = 60;
const RETRY_DELAYS_SECONDS = [10, 60, 5 * 60, 30 * 60, 60 * 60, 6 * 60 * 60];

/**
 * Creates the process's part of the queue of tokens that Apple is asked to revoke. A row outlives an outage of Apple and a
 * process that is killed, and is tried for 30 days. Call `wake` after the deletion of an account, and periodically.
 */
export function createAppleRevocations(deps: Deps): Consumer {
  const queue = createLeaseQueue<Row>(deps, {
    table: "AppleRevocation",
    key: "id",
    dueAt: "nextAttemptAt",
    leaseSeconds: LEASE_SECONDS,
  });
  return createConsumer({
    concurrency: MAX_CONCURRENT,
    processNext: async () => {
      const row = await queue.claim();
      if (row) await revoke(deps, queue, row);
      return row !== null;
    },
    onError: (error) => deps.log.warn({ err: error }, "the queue of Apple's tokens is waiting for the database"),
  });
}

async function revoke(deps: Deps, queue: LeaseQueue<Row>, row: Row & Lease): Promise<void> {
  const { log } = deps;
  const { id, attempts } = row;
  try {
    await revokeAppleToken(deps, await readAppleToken(deps, id, row.refreshToken));
  } catch (error) {
    const isLast = row.expiresAt <= row.claimedAt;
    if (!isLast) {
      log.warn({ err: error, attempts }, "Apple has not revoked the token of a deleted account: it will be retried");
      return queue.retry(row, backoffSeconds(RETRY_DELAYS_SECONDS, attempts));
    }
    log.error({ err: error, attempts }, "Apple has not revoked the token of a deleted account: it is discarded");
  }
  await queue.complete(row);
}

/** Revokes a refresh token (Sign in with Apple REST API, "Revoke tokens"; RFC 7009). Can be repeated. */
async function revokeAppleToken(deps: Deps, { clientId, refreshToken }: AppleToken): Promise<void> {
  const parameters = { token: refreshToken, token_type_hint: "refresh_token" };
  const response = await postToApple(deps, `${deps.config.AUTH_APPLE_ISSUER}/auth/revoke`, clientId, parameters);
  await response.body?.cancel();
}
