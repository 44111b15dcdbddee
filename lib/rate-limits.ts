import { createHmac } from "node:crypto";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { Config } from "./config";
import type { PrismaClient } from "./db/generated/client";
import { rateLimited } from "./errors";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Uses in a number of seconds. Each key names what is counted, and by whose key. */
const LIMITS = {
  loginByIp: { points: 60, seconds: 15 * MINUTE },
  oauthByIp: { points: 120, seconds: 15 * MINUTE },
  registerByIp: { points: 20, seconds: HOUR },
  verificationByIp: { points: 10, seconds: 15 * MINUTE },
  verificationMailByNetwork: { points: 3, seconds: HOUR },
  verificationMailByEmail: { points: 9, seconds: HOUR },
  verificationMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  resetMailByNetwork: { points: 3, seconds: HOUR },
  resetMailByEmail: { points: 9, seconds: HOUR },
  resetMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  resetRequestByIp: { points: 10, seconds: HOUR },
  resetConfirmByIp: { points: 10, seconds: 15 * MINUTE },
  resetConfirmByToken: { points: 10, seconds: 15 * MINUTE },
  exportByAccount: { points: 5, seconds: DAY },
  pushRegisterByAccount: { points: 60, seconds: HOUR },
  pushChallengeByDevice: { points: 3, seconds: HOUR },
} as const;

export type LimitName = keyof typeof LIMITS;

export type RateLimits = {
  /** Counts one use. @throws AppError rate_limited over the limit. */
  consume: (limit: LimitName, key: string) => Promise<void>;
  /** Returns uses that should not count, such as successful sign-ins. */
  refund: (limit: LimitName, key: string, uses?: number) => Promise<void>;
  /** A keyed hash of private text. `consume` and `refund` hash their keys themselves. */
  privateKey: (text: string) => string;
};

/** Rate limits in the database, which all instances share. While it is down, each instance counts in memory. */
export function createRateLimits(db: PrismaClient, config: Config & { secret: string }): RateLimits {
  const privateKey = (text: string) => createHmac("sha256", config.secret).update(text).digest("base64url");
  if (config.RATE_LIMITS === "off") return { consume: async () => {}, refund: async () => {}, privateKey };
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
        clearExpiredByTimeout: false, // lib/auth/retention.ts deletes in batches
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
      await consumeBounded(limiter, privateKey(key)).catch((error: unknown) => {
        throw error instanceof RateLimiterRes
          ? rateLimited({ name: limit, ...LIMITS[limit] }, error.msBeforeNext)
          : error;
      });
    },
    refund: async (limit, key, uses = 1) => void (await limiters.get(limit)?.reward(privateKey(key), uses)),
    privateKey,
  };
}

/** Counts one use. A window that ends later than its duration was opened by a clock that ran ahead, and is discarded. */
async function consumeBounded(limiter: RateLimiterPostgres, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (error) {
    if (!(error instanceof RateLimiterRes) || error.msBeforeNext <= limiter.msDuration) throw error;
    await limiter.delete(key);
    await limiter.consume(key);
  }
}
