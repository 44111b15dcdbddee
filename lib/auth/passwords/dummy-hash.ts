import { createHash } from "node:crypto";
import type { Context } from "../../context";

type Deps = Pick<Context, "db" | "limits">;

/** How many accounts have a hash that takes as long to verify as `sample`. null: those with a hash of our own. */
type Share = { sample: string | null; accounts: number };

const REFRESH_MS = 10 * 60 * 1000;
const MAX_SAMPLED_ROWS = 100_000;

const known = new WeakMap<Deps["db"], { shares: Promise<Share[]>; readAtMs: number }>();

/**
 * The hash that a sign-in compares for an email without an account; undefined for one of our own. It is some account's, in
 * proportion to how many have hashes of its kind, and always of one kind for an email: otherwise the time to verify an
 * imported hash would reveal that its email has an account.
 */
export async function dummyHashFor(deps: Deps, email: string): Promise<string | undefined> {
  const shares = await knownShares(deps);
  const total = shares.reduce((sum, { accounts }) => sum + accounts, 0);
  const pseudonym = await deps.limits.pseudonymOf(`dummy hash:${email}`);
  let index = (createHash("sha256").update(pseudonym).digest().readUInt32BE() / 2 ** 32) * total;
  for (const { sample, accounts } of shares) {
    index -= accounts;
    if (index < 0) return sample ?? undefined;
  }
  return undefined;
}

/** After an import: the next sign-in counts the hashes again. Other processes do within ten minutes. */
export const forgetShares = ({ db }: Pick<Deps, "db">): void => void known.delete(db);

/** Known and unknown emails wait alike for a count, every ten minutes. */
function knownShares({ db }: Pick<Deps, "db">): Promise<Share[]> {
  const found = known.get(db);
  const readAtMs = performance.now();
  if (found && readAtMs - found.readAtMs < REFRESH_MS) return found.shares;
  const shares = readShares(db);
  known.set(db, { shares, readAtMs });
  shares.catch(() => known.delete(db));
  return shares;
}

/** The time to verify a hash depends on all of it but its salt and digest, and on their length. */
async function readShares(db: Deps["db"]): Promise<Share[]> {
  const [imported] = (await db.$queryRaw`SELECT FROM "Account" WHERE "passwordHash" LIKE '{%' LIMIT 1`) as object[];
  if (!imported) return [];
  return db.$queryRaw<Share[]>`
    SELECT CASE WHEN kind <> '' THEN min(hash) END AS sample, count(*)::int AS accounts
    FROM (
      SELECT "passwordHash" AS hash, CASE WHEN "passwordHash" LIKE '{%'
          THEN regexp_replace("passwordHash", '\\$[^$]*\\$[^$]*$', '') || length("passwordHash") ELSE '' END AS kind
      FROM "Account" TABLESAMPLE SYSTEM (LEAST(100, 100.0 * ${MAX_SAMPLED_ROWS}::integer
        / GREATEST(1, (SELECT reltuples FROM pg_class WHERE oid = '"Account"'::regclass))))
      WHERE "passwordHash" IS NOT NULL) AS sampled
    GROUP BY kind ORDER BY kind`;
}
