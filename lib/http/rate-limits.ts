import { createHmac } from "node:crypto";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { Config } from "../config";
import type { PrismaClient } from "../db/generated/client";
import { rateLimited } from "../errors";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How often a caller may do what, in seconds. Keys name what is counted and by whom. */
const LIMITS = {
  loginByAddress: { points: 60, seconds: 15 * MINUTE },
  oauthByAddress: { points: 120, seconds: 15 * MINUTE },
  registerByAddress: { points: 20, seconds: HOUR },
  verificationByAddress: { points: 10, seconds: 15 * MINUTE },
  verificationMailByNetwork: { points: 3, seconds: HOUR },
  verificationMailByEmail: { points: 9, seconds: HOUR },
  verificationMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  resetMailByNetwork: { points: 3, seconds: HOUR },
  resetMailByEmail: { points: 9, seconds: HOUR },
  resetMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  resetRequestByAddress: { points: 10, seconds: HOUR },
  resetConfirmByAddress: { points: 10, seconds: 15 * MINUTE },
  resetConfirmByToken: { points: 10, seconds: 15 * MINUTE },
  exportByAccount: { points: 5, seconds: DAY },
  pushRegisterByAccount: { points: 60, seconds: HOUR },
  pushChallengeByDevice: { points: 3, seconds: HOUR },
} as const;

export type LimitName = keyof typeof LIMITS;

export type RateLimits = {
  /** Counts one use. @throws AppError rate_limited over the limit. */
  consume: (limit: LimitName, key: string) => Promise<void>;
  /** Takes uses back that were right, or came to nothing, as where the service was too busy to look at a password. */
  giveBack: (limit: LimitName, key: string, uses?: number) => Promise<void>;
  /** A key for something private that does not give it away. Those of `consume` are kept this way by themselves. */
  privateKey: (text: string) => string;
};

/**
 * Limits counted in the database, so that all instances share them, and in memory while it is down.
 * Over the limit the error carries `Retry-After`, `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers).
 */
export function createRateLimits(db: PrismaClient, config: Config & { secret: string }): RateLimits {
  const privateKey = (text: string) => createHmac("sha256", config.secret).update(text).digest("base64url");
  if (config.RATE_LIMITS === "off") return { consume: async () => {}, giveBack: async () => {}, privateKey };
  const storeClient = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => {
      const rows = await db.$queryRawUnsafe<Record<string, unknown>[]>(text, ...values);
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })), rowCount: rows.length };
    },
  };
  const limiters = new Map<string, RateLimiterPostgres>();
  for (const [keyPrefix, { points, seconds: duration }] of Object.entries(LIMITS)) {
    limiters.set(
      keyPrefix,
      new RateLimiterPostgres({
        storeClient,
        storeType: "client",
        tableName: "RateLimit",
        tableCreated: true,
        clearExpiredByTimeout: false, // lib/auth/retention.ts does, in batches
        keyPrefix,
        points,
        duration,
        insuranceLimiter: new RateLimiterMemory({ keyPrefix, points, duration }),
      }),
    );
  }
  return {
    consume: async (limit, key) => {
      const limiter = limiters.get(limit);
      if (!limiter) return;
      await consumeBounded(limiter, privateKey(key)).catch((refused: unknown) => {
        throw refused instanceof RateLimiterRes
          ? rateLimited({ name: limit, ...LIMITS[limit] }, refused.msBeforeNext)
          : refused;
      });
    },
    giveBack: async (limit, key, uses = 1) => void (await limiters.get(limit)?.reward(privateKey(key), uses)),
    privateKey,
  };
}

/**
 * Counts one use in a window that ends within its own length. One that would end later was opened by a clock that was
 * ahead: it is discarded, and a new one begins.
 */
async function consumeBounded(limiter: RateLimiterPostgres, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes) || refused.msBeforeNext <= limiter.msDuration) throw refused;
    await limiter.delete(key);
    await limiter.consume(key);
  }
}
