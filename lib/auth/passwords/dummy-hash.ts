import { createHash } from "node:crypto";
import type { Context } from "../../context";
import { sql } from "../../platform/db/sql";
import { isImported } from "./imported-hash";
import { dummyHash } from "./password-hash";

type Deps = Pick<Context, "config" | "db" | "limits">;

/** The hashes that take as long to verify as `sample`, and how many accounts have one. */
type Kind = { name: string; sample: string; accounts: number };
/** `kinds` are read again in the background. */
type Known = { kinds: Promise<Kind[]>; readAtMs: number };

const REFRESH_MS = 60_000;
const MAX_KINDS = 100;
/** More accounts of a kind are estimated from a sample of the table's pages, which are the same each time. */
const MAX_COUNTED = 10_000;
const MAX_SAMPLED_PAGES = 1_000;
const PAGE_BYTES = 8_192;

/**
 * What the time to verify a hash depends on: all of it but its salt and digest, and their length. The index of the migration
 * `account_import` is of this text: change both.
 */
const KIND = sql`CASE WHEN "passwordHash" LIKE '{%'
  THEN regexp_replace("passwordHash", '[$][^$]*[$][^$]*$', '') || length("passwordHash")::text
  ELSE left("passwordHash", 7) END`;

/** The same of one hash. */
const kindOf = (hash: string): string =>
  isImported(hash) ? `${hash.replace(/[$][^$]*[$][^$]*$/, "")}${hash.length}` : hash.slice(0, 7);

const known = new WeakMap<Deps["db"], Known>();

/**
 * The hash that a sign-in compares for an email without a password: one of those in use. Of all emails, as many have a hash of
 * a kind as of all accounts with a password, and an email keeps its own while the numbers do (weighted rendezvous hashing by a
 * keyed hash). So the time to verify a password does not reveal whether its email has an account.
 */
export async function dummyHashFor({ config, db, limits }: Deps, email: string): Promise<string> {
  const own = dummyHash(config.BCRYPT_COST);
  const kinds = [...(await knownKinds(db))];
  // New hashes are of this kind, and may have been stored since the last count.
  if (!kinds.some(({ name }) => name === kindOf(own))) kinds.push({ name: kindOf(own), sample: own, accounts: 1 });
  const pseudonym = await limits.pseudonymOf(`dummy hash:${email}`);
  const distanceOf = ({ name, accounts }: Kind) => {
    const digest = createHash("sha256").update(`${pseudonym} ${name}`).digest();
    return -Math.log((digest.readUInt32BE() + 1) / 2 ** 32) / accounts;
  };
  const nearest = kinds.map((kind) => ({ kind, distance: distanceOf(kind) })).sort((a, b) => a.distance - b.distance);
  return nearest[0]?.kind.sample ?? own;
}

/** Counts hashes that an import has stored. Other processes read them within a minute. */
export async function addHashes({ db }: Pick<Deps, "db">, hashes: readonly string[]): Promise<void> {
  const kinds = await known.get(db)?.kinds.catch(() => null);
  for (const sample of kinds ? hashes : []) {
    const name = kindOf(sample);
    const kind = kinds?.find((one) => one.name === name);
    if (kind) kind.accounts += 1;
    else kinds?.push({ name, sample, accounts: 1 });
  }
}

/** Known and unknown emails wait alike for the first count. */
function knownKinds(db: Deps["db"]): Promise<Kind[]> {
  const found = known.get(db);
  const readAtMs = performance.now();
  if (found && readAtMs - found.readAtMs < REFRESH_MS) return found.kinds;
  const kinds = readKinds(db);
  const next: Known = { kinds: found?.kinds ?? kinds, readAtMs };
  known.set(db, next);
  kinds.then(
    () => {
      next.kinds = kinds;
    },
    () => {
      if (!found) known.delete(db);
    },
  );
  return next.kinds;
}

/** Takes as long for ten million accounts as for 50,000. Counts rare kinds, of which a sample may have none. */
function readKinds(db: Deps["db"]): Promise<Kind[]> {
  const ofAccounts = sql`FROM "Account" WHERE "passwordHash" IS NOT NULL`;
  return db.$queryRaw<Kind[]>`
    WITH RECURSIVE kind(name, sample) AS (
      VALUES ('', '')
      UNION ALL
      SELECT next.* FROM kind, LATERAL (
        SELECT ${KIND} AS name, "passwordHash" AS sample ${ofAccounts} AND ${KIND} > kind.name ORDER BY 1 LIMIT 1) AS next
    ), counted AS MATERIALIZED (
      SELECT kind.*, (SELECT count(*) FROM (SELECT ${ofAccounts} AND ${KIND} >= kind.name AND ${KIND} <= kind.name
        LIMIT ${MAX_COUNTED}::int) AS one) AS accounts
      FROM kind WHERE name <> '' LIMIT ${MAX_KINDS}::int
    ), sampling AS MATERIALIZED (
      SELECT LEAST(1, ${MAX_SAMPLED_PAGES * PAGE_BYTES}::float8 / GREATEST(1, pg_relation_size('"Account"'))) AS share
    ), sampled AS (
      SELECT ${KIND} AS name, count(*) AS accounts FROM "Account" TABLESAMPLE SYSTEM ((SELECT 100 * share FROM sampling)) REPEATABLE (0)
      WHERE "passwordHash" IS NOT NULL AND EXISTS (SELECT FROM counted WHERE accounts >= ${MAX_COUNTED}::int) GROUP BY 1
    )
    SELECT name, sample, CASE WHEN counted.accounts < ${MAX_COUNTED}::int THEN counted.accounts
      ELSE GREATEST(counted.accounts, sampled.accounts / share) END::float8 AS accounts
    FROM counted LEFT JOIN sampled USING (name), sampling`;
}
