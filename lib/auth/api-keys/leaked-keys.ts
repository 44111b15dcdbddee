import { recordOperatorEvent } from "../../audit/operator-events";
import type { EventSource } from "../../audit/security-events";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { findKeys, hashKey, KEY_PREFIX } from "./key-text";

/** Whether a URL's query contains an API key. */
export function hasKeyInQuery(url: string): boolean {
  const start = url.indexOf("?");
  return start >= 0 && url.includes(KEY_PREFIX, start) && findKeys(url.slice(start)).length > 0;
}

/**
 * Revokes an API key that is in a request's query, and refuses the request: proxies log URLs, and browsers keep them.
 * The key of this machine's operator stops working; the next start generates a new one.
 * @throws AppError key_in_url, always
 */
export async function revokeKeyInQuery(
  { db, now, operatorKey }: Pick<Context, "db" | "now" | "operatorKey">,
  url: string,
  source: EventSource,
): Promise<never> {
  const at = now();
  for (const text of findKeys(url.slice(url.indexOf("?")))) {
    if (operatorKey?.matches(text)) {
      operatorKey.revoke();
      const operator = { actor: "operator", accountId: null, source } as const;
      await db.$transaction((tx) =>
        recordOperatorEvent(tx, at, operator, { type: "key_leaked", target: "key:operator" }),
      );
      continue;
    }
    const key = await db.apiKey.findUnique({ where: { keyHash: hashKey(text) }, select: { id: true } });
    if (key === null) continue;
    await db.$transaction(async (tx) => {
      const { count } = await tx.apiKey.updateMany({ where: { ...key, revokedAt: null }, data: { revokedAt: at } });
      if (count === 0) return;
      const operator = { actor: `key:${key.id}`, accountId: null, source } as const;
      await recordOperatorEvent(tx, at, operator, { type: "key_leaked", target: `key:${key.id}` });
    });
  }
  throw new AppError("key_in_url");
}
