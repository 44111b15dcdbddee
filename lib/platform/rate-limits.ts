import type { Logger } from "pino";
import { rateLimited } from "../errors";
import type { Config } from "./config";
import { batchWrite } from "./db/batch-write";
import type { Prisma, PrismaClient } from "./db/generated/client";
import { sql } from "./db/sql";
import { type Count, createMemoryCounter, MAX_CLOCK_DIFFERENCE_MS, type Use } from "./limits";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Uses in a number of seconds. Each key names what is counted, and by whose key. `isLocal`: each process counts for itself,
 * in memory, so that a flood does not reach the database.
 */
const LIMITS = {
  loginByIp: { points: 60, seconds: 15 * MINUTE },
  oauthByIp: { points: 120, seconds: 15 * MINUTE },
  oauthTokenByIp: { points: 60, seconds: 15 * MINUTE },
  deviceAuthorizationByIp: { points: 60, seconds: HOUR },
  userCodeByAccount: { points: 10, seconds: 15 * MINUTE },
  challengeByIp: { points: 60, seconds: 15 * MINUTE },
  enrollmentByAccount: { points: 20, seconds: HOUR },
  passkeyByIp: { points: 60, seconds: 15 * MINUTE },
  passkeyOptionsByIp: { points: 300, seconds: 15 * MINUTE },
  passkeyOptionsByAccount: { points: 60, seconds: 15 * MINUTE },
  apiKeyByIp: { points: 60, seconds: 15 * MINUTE },
  publisherRefusals: { points: 300, seconds: HOUR },
  registerByIp: { points: 20, seconds: HOUR },
  verificationRequestByIp: { points: 10, seconds: HOUR },
  verificationByIp: { points: 10, seconds: 15 * MINUTE },
  verificationMailByNetwork: { points: 3, seconds: HOUR },
  verificationMailByEmail: { points: 9, seconds: HOUR },
  verificationMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  notMeByIp: { points: 10, seconds: 15 * MINUTE },
  resetMailByNetwork: { points: 3, seconds: HOUR },
  resetMailByEmail: { points: 9, seconds: HOUR },
  resetMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  signInMailByNetwork: { points: 3, seconds: HOUR },
  signInMailByEmail: { points: 9, seconds: HOUR },
  signInMailAtLeast: { points: 1, seconds: 20 * MINUTE },
  invitationMailByEmail: { points: 5, seconds: HOUR },
  resetRequestByIp: { points: 10, seconds: HOUR },
  resetConfirmByIp: { points: 10, seconds: 15 * MINUTE },
  resetConfirmByToken: { points: 10, seconds: 15 * MINUTE },
  passwordChangeByAccount: { points: 10, seconds: HOUR },
  emailChangeByAccount: { points: 5, seconds: DAY },
  emailChangeByIp: { points: 10, seconds: 15 * MINUTE },
  entitlementTokenByAccount: { points: 60, seconds: HOUR },
  freshStatusByAccount: { points: 1, seconds: MINUTE },
  exportByAccount: { points: 5, seconds: DAY },
  pushRegisterByAccount: { points: 60, seconds: HOUR },
  pushChallengeByDevice: { points: 3, seconds: HOUR },
  humanPace: { points: 1, seconds: 2 },
  webhookFailureByIp: { points: 300, seconds: 15 * MINUTE, isLocal: true },
  cspReportByIp: { points: 60, seconds: HOUR, isLocal: true },
  updateReportByIp: { points: 10, seconds: HOUR, isLocal: true },
  updateReports: { points: 6_000, seconds: MINUTE, isLocal: true },
} as const;

export type LimitName = keyof typeof LIMITS;

export type RateLimits = {
  /** Counts one use. @throws AppError rate_limited over the limit. */
  consume: (limit: LimitName, key: string) => Promise<void>;
  /** Returns uses that should not count, such as successful sign-ins. */
  refund: (limit: LimitName, key: string, uses?: number) => Promise<void>;
  /** The HMAC of private text. `consume` and `refund` hash their keys themselves. @throws if the database is down */
  pseudonymOf: (text: string) => Promise<string>;
};

type Deps = {
  config: Pick<Config, "RATE_LIMITS">;
  db: PrismaClient;
  dbNow: () => Prisma.Sql;
  log: Pick<Logger, "warn">;
  now: () => Date;
  pseudonymOf: RateLimits["pseudonymOf"];
};

/**
 * Rate limits in the database, which all instances share: a fixed window of each key, which starts with its first use.
 * While the database is down, each instance counts in memory.
 */
export function createRateLimits(deps: Deps): RateLimits {
  const { pseudonymOf } = deps;
  if (deps.config.RATE_LIMITS === "off") return { consume: async () => {}, refund: async () => {}, pseudonymOf };
  const countInMemory = createMemoryCounter(deps.now);
  const count = async (limit: LimitName, key: string, uses: number): Promise<Count> => {
    const { seconds } = LIMITS[limit];
    if ("isLocal" in LIMITS[limit]) return countInMemory({ key: `${limit}:${key}`, uses, seconds });
    try {
      return await countInBatch(deps, { key: `${limit}:${await pseudonymOf(key)}`, uses, seconds });
    } catch {
      return countInMemory({ key: `${limit}:${key}`, uses, seconds });
    }
  };
  return {
    consume: async (limit, key) => {
      const { uses, remainingMs } = await count(limit, key, 1);
      if (uses > LIMITS[limit].points) throw rateLimited({ name: limit, ...LIMITS[limit] }, remainingMs);
    },
    refund: async (limit, key, uses = 1) => void (await count(limit, key, -uses)),
    pseudonymOf,
  };
}

/** Counts the uses of one turn of the event loop by one statement. */
const countInBatch = batchWrite<Deps, Use, Count>({
  processMany: countInDatabase,
  processOne: async (deps, use) => (await countInDatabase(deps, [use]))[0] as Count,
});

/**
 * Adds the uses of equal keys up, and returns each one's own count in their order. The statement locks the rows in the
 * order of their keys, so that concurrent ones do not deadlock.
 */
async function countInDatabase({ db, dbNow }: Deps, uses: readonly Use[]): Promise<Count[]> {
  const added = new Map<string, Use>();
  for (const use of uses) added.set(use.key, { ...use, uses: use.uses + (added.get(use.key)?.uses ?? 0) });
  const sorted = [...added.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  const isOver = sql`counter."expiresAt" <= ${dbNow()} OR counter."expiresAt" >
    EXCLUDED."expiresAt" + interval '1 millisecond' * ${MAX_CLOCK_DIFFERENCE_MS}::int`;
  const rows = await db.$queryRaw<(Count & { key: string })[]>`
    INSERT INTO "RateLimitCounter" AS counter ("key", "uses", "expiresAt")
    SELECT "key", "uses", ${dbNow()} + interval '1 second' * "seconds" FROM unnest(
      ${sorted.map(({ key }) => key)}::text[], ${sorted.map((use) => use.uses)}::int[],
      ${sorted.map(({ seconds }) => seconds)}::int[]) AS added ("key", "uses", "seconds")
    ON CONFLICT ("key") DO UPDATE SET
      "uses" = CASE WHEN ${isOver} THEN EXCLUDED."uses" ELSE counter."uses" + EXCLUDED."uses" END,
      "expiresAt" = CASE WHEN ${isOver} THEN EXCLUDED."expiresAt" ELSE counter."expiresAt" END
    RETURNING "key", "uses", 1000 * extract(epoch FROM "expiresAt" - ${dbNow()})::float8 AS "remainingMs"`;
  const counts = new Map(rows.map((row) => [row.key, { ...row, uses: row.uses - (added.get(row.key)?.uses ?? 0) }]));
  return uses.map((use) => {
    const { uses: before, remainingMs } = counts.get(use.key) as Count;
    const counted = { uses: before + use.uses, remainingMs };
    counts.set(use.key, { ...counted, key: use.key });
    return counted;
  });
}
