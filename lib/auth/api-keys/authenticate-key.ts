import type { Context } from "../../context";
import { AppError } from "../../errors";
import { isInNetworks } from "../../platform/config/networks";
import type { KeyPrincipal } from "../../principal";
import { hashKey, isApiKey } from "./key-text";

/**
 * Where a request comes from: its client's IP, and the network by which limits count. Both are "unknown" if there is none.
 */
export type RequestSource = { ip: string; network: string };

type Deps = Pick<Context, "db" | "limits" | "log" | "now">;

const LAST_USE_INTERVAL_MS = 60 * 60 * 1000;
/** RFC 6750, section 3.1. */
const INVALID_TOKEN = { "WWW-Authenticate": 'Bearer realm="homeport", error="invalid_token"' };

/**
 * Authenticates a request by its API key. The key is found by its hash, so that the duration reveals nothing of it.
 * @throws AppError unauthenticated for an unknown, expired or revoked key; rate_limited for many of them; forbidden for
 *   another network than the key's
 */
export async function authenticateKey(deps: Deps, text: string, { ip, network }: RequestSource): Promise<KeyPrincipal> {
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
  const { id, name, scopes, lastUsedAt } = key;
  if (at.getTime() - (lastUsedAt?.getTime() ?? 0) > LAST_USE_INTERVAL_MS) recordUse(deps, id, at);
  return { key: { id, name, scopes } };
}

/** In the background: the request does not wait for it. */
function recordUse({ db, log }: Deps, id: string, at: Date): void {
  db.apiKey
    .updateMany({ where: { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: at } }] }, data: { lastUsedAt: at } })
    .catch((error: unknown) => log.warn({ err: error, keyId: id }, "the last use of an API key could not be stored"));
}
