import { createHmac } from "node:crypto";
import type { Context } from "../../context";
import { dataKey } from "./data-keys";

/**
 * A keyed hash of private text (HMAC-SHA-256, base64url), the same before and after a rotation. It lets rows be found by
 * an email, a network or a typed code, and hides them from a reader of the database. It protects no access.
 */
export async function pseudonym(deps: Pick<Context, "config" | "db">, text: string): Promise<string> {
  const { key } = await dataKey(deps, "pseudonyms");
  return createHmac("sha256", key).update(text).digest("base64url");
}
