import type { Context } from "../../context";
import { AppError } from "../../errors";
import { personOf, recordOperatorEvent } from "../../platform/audit/operator-events";
import { isInNetworks } from "../../platform/config/networks";
import type { ApiKey as Row } from "../../platform/db/generated/client";
import { isUuid, newId } from "../../platform/db/ids";
import { readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import { displayedPrefix, generateApiKey, hashKey, isApiKey } from "./key-text";
import type { ApiKey, ApiKeys, CreatedKey, KeysQuery, NewKey } from "./schema";

type Deps = Pick<Context, "db" | "limits" | "log" | "now">;

/**
 * Creates an API key. Only this result has the key itself.
 * @throws AppError validation_failed for a time in the past, or for products with a scope that knows none
 */
export async function createKey(
  { db, now }: Deps,
  operator: Operator,
  { name, scopes, products, networks, expiresAt = null }: NewKey,
): Promise<CreatedKey> {
  const at = now();
  if (expiresAt !== null && expiresAt <= at) {
    const errors = [{ pointer: "/expiresAt", code: "too_early", detail: "Must be in the future" }];
    throw new AppError("validation_failed", { errors });
  }
  if (products.length > 0 && scopes.some((scope) => !scope.startsWith("releases:"))) {
    const detail = "A key of some products may have scopes for releases only";
    throw new AppError("validation_failed", { errors: [{ pointer: "/scopes", code: "invalid_value", detail }] });
  }
  const key = generateApiKey();
  const id = newId();
  const [prefix, keyHash] = [displayedPrefix(key), hashKey(key)];
  const createdBy = personOf(operator);
  const data = { id, name, scopes, products, networks, expiresAt, createdAt: at, createdBy, prefix, keyHash };
  const row = await db.$transaction(async (tx) => {
    const details = { name, scopes, products, networks, expiresAt: expiresAt?.toISOString() ?? null };
    await recordOperatorEvent(tx, at, operator, { type: "key_created", target: `key:${id}`, details });
    return tx.apiKey.create({ data });
  });
  return { ...describe(row, at), key };
}

/** A page of the API keys, newest first, those that no longer work included. @throws AppError invalid_query */
export async function listKeys({ db, now }: Deps, { prefix, ...page }: KeysQuery): Promise<ApiKeys> {
  const { entries, nextCursor } = await readPage("keys", page, ({ after, take }) =>
    db.apiKey.findMany({
      where: {
        ...(after !== null && isUuid(after) && { id: { lt: after } }),
        ...(prefix !== undefined && { prefix: { startsWith: displayedPrefix(prefix) } }),
      },
      orderBy: { id: "desc" },
      take,
    }),
  );
  const at = now();
  return { keys: entries.map((row) => describe(row, at)), nextCursor };
}

/** Revokes an API key, at once. Does nothing to a revoked one. @throws AppError not_found */
export async function revokeKey({ db, now }: Deps, operator: Operator, id: string): Promise<void> {
  const at = now();
  await db.$transaction(async (tx) => {
    const { count } = await tx.apiKey.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: at } });
    const key = await tx.apiKey.findUnique({ where: { id }, select: { name: true } });
    if (key === null) throw new AppError("not_found");
    if (count === 0) return;
    await recordOperatorEvent(tx, at, operator, { type: "key_revoked", target: `key:${id}`, details: key });
  });
}

/** Whether requests with the key are accepted. */
export async function isKeyActive({ db, now }: Deps, key: string): Promise<boolean> {
  const row = await db.apiKey.findUnique({ where: { keyHash: hashKey(key) } });
  return row !== null && describe(row, now()).status === "active";
}

function describe({ keyHash: _, ...row }: Row, at: Date): ApiKey {
  const isExpired = row.expiresAt !== null && row.expiresAt <= at;
  return { ...row, status: row.revokedAt !== null ? "revoked" : isExpired ? "expired" : "active" };
}

/**
 * Where a request comes from: its client's IP, and the network by which limits count. Both are "unknown" if there is none.
 */
type RequestSource = { ip: string; network: string };

const LAST_USE_INTERVAL_MS = 60 * 60 * 1000;
/** RFC 6750, section 3.1. */
const INVALID_TOKEN = { "WWW-Authenticate": 'Bearer realm="homeport", error="invalid_token"' };

/**
 * Authenticates a request by its API key. The key is found by its hash, so that the duration reveals nothing of it.
 * @throws AppError unauthenticated for an unknown, expired or revoked key; rate_limited for many of them; forbidden for
 *   another network than the key's
 */
export async function authenticateKey(deps: Deps, text: string, { ip, network }: RequestSource) {
  const at = deps.now();
  const key = isApiKey(text) ? await deps.db.apiKey.findUnique({ where: { keyHash: hashKey(text) } }) : null;
  const isValid = key !== null && key.revokedAt === null && (key.expiresAt === null || key.expiresAt > at);
  if (!isValid) {
    await deps.limits.consume("apiKeyByIp", network);
    const detail = "The API key is unknown, expired or revoked.";
    throw new AppError("unauthenticated", { detail, headers: INVALID_TOKEN });
  }
  if (key.networks.length > 0 && !isInNetworks(ip, key.networks)) {
    throw new AppError("forbidden", { detail: "The API key may not be used from this network." });
  }
  const { id, name, scopes, products, lastUsedAt } = key;
  if (at.getTime() - (lastUsedAt?.getTime() ?? 0) > LAST_USE_INTERVAL_MS) recordUse(deps, id, at);
  return { key: { id, name, scopes, products } };
}

/** In the background: the request does not wait for it. */
function recordUse({ db, log }: Deps, id: string, at: Date): void {
  db.apiKey
    .updateMany({ where: { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: at } }] }, data: { lastUsedAt: at } })
    .catch((error: unknown) => log.warn({ err: error, keyId: id }, "the last use of an API key could not be stored"));
}
