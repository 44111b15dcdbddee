import { z } from "zod";
import type { Context } from "../../context";
import type { Prisma } from "../../platform/db/generated/client";
import { seconds, sql } from "../../platform/db/sql";
import { decryptSecret, encryptSecret } from "../../platform/keys/stored-secrets";

type Deps = Pick<Context, "config" | "db">;

/** Apple's refresh token, and the client that it was issued to: a Services ID, or an app's bundle id. */
const AppleToken = z.object({ clientId: z.string(), refreshToken: z.string() });
export type AppleToken = z.infer<typeof AppleToken>;

/** How long Apple is asked to revoke a token. */
const REVOCATION_TTL_SECONDS = 30 * 24 * 60 * 60;
/** Mail to a relay address no longer arrives once the token is revoked: the notice of the deletion is sent first. */
const RELAY_DOMAIN = "@privaterelay.appleid.com";
const RELAY_DELAY_SECONDS = 10 * 60;

export const appleTokenPurpose = (identityId: string) => `apple-refresh-token:${identityId}`;

/**
 * Stores Apple's newest refresh token of an identity, encrypted. It is kept to revoke it when the account is deleted
 * (App Store Review Guidelines, 5.1.1(v)), and for nothing else. Does nothing without a token, for other providers, and
 * if the identity was unlinked meanwhile.
 */
export async function storeAppleToken(
  { config, db }: Deps,
  { provider, issuer, subject }: { provider: string; issuer: string; subject: string },
  clientId: string | undefined,
  token: string | undefined,
): Promise<void> {
  if (provider !== "apple" || !clientId || !token) return;
  const identity = await db.identity.findUnique({
    where: { issuer_subject: { issuer, subject } },
    select: { id: true },
  });
  if (!identity) return;
  const { id } = identity;
  const plaintext: AppleToken = { clientId, refreshToken: token };
  const refreshToken = await encryptSecret({ config, db }, appleTokenPurpose(id), JSON.stringify(plaintext));
  await db.identity.updateMany({ where: { id }, data: { refreshToken } });
}

/** Decrypts a token that `storeAppleToken` stored. @throws as `decryptSecret` does */
export async function readAppleToken(deps: Pick<Context, "config" | "db">, identityId: string, stored: string) {
  return AppleToken.parse(JSON.parse(await decryptSecret(deps, appleTokenPurpose(identityId), stored)));
}

/**
 * The statement that queues the revocation of the tokens of deleted accounts, for the statement that deletes them: it
 * reads a CTE `deleted` with the "id" and "email" of each account, and the identities as they were before.
 */
export function queueRevocations(now: Prisma.Sql): Prisma.Sql {
  return sql`
    INSERT INTO "AppleRevocation" ("id", "refreshToken", "createdAt", "nextAttemptAt", "expiresAt")
    SELECT identity."id", identity."refreshToken", at,
      at + CASE WHEN deleted."email" LIKE ${`%${RELAY_DOMAIN}`} THEN ${seconds(RELAY_DELAY_SECONDS)} ELSE ${seconds(0)} END,
      at + ${seconds(REVOCATION_TTL_SECONDS)}
    FROM deleted JOIN "Identity" AS identity ON identity."accountId" = deleted."id", (SELECT ${now} AS at) AS clock
    WHERE identity."refreshToken" IS NOT NULL`;
}
