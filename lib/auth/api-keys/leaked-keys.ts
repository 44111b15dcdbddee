import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { EventSource } from "../../principal";
import { findKeys, hashKey, KEY_PREFIX } from "./key-text";

/** Whether the path or the query of a URL contains an API key. */
export function hasKeyInUrl(url: string): boolean {
  return (url.includes(KEY_PREFIX) || url.includes("%")) && keysIn(url).length > 0;
}

/** A character of ASCII, percent-encoded once or several times (RFC 3986, section 2.1). */
const ENCODED = /%(?:25)*([2-7][0-9a-f])/gi;
/** How often a URL is decoded: the digits of an encoded character can be encoded, too. Bounded, as each takes linear time. */
const MAX_DECODINGS = 4;

/** The keys in a URL, whichever of their characters are percent-encoded, however often. */
function keysIn(url: string): string[] {
  const found = new Set<string>();
  for (let decodings = 0, text = url; ; decodings += 1) {
    for (const key of findKeys(text)) found.add(key);
    const decoded = text.replace(ENCODED, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (decoded === text || decodings === MAX_DECODINGS) return [...found];
    text = decoded;
  }
}

/**
 * Revokes an API key that is in a request's URL, and refuses the request: proxies log URLs, and browsers keep them. The
 * key of this machine's operator stops working; the next start generates a new one.
 * @throws AppError key_in_url, always
 */
export async function revokeKeyInUrl(
  ctx: Pick<Context, "db" | "now" | "operatorKey">,
  url: string,
  source: EventSource,
): Promise<never> {
  const { db, operatorKey } = ctx;
  const at = ctx.now();
  for (const text of keysIn(url)) {
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
