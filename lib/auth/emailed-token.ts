import { createHmac } from "node:crypto";
import type { Context } from "../context";

/**
 * The token of an emailed link, derived from a random id. Only the id and a hash of the token are stored; the service
 * derives the token again when it sends the email.
 */
export function emailedToken(
  { secret }: Pick<Context["config"], "secret">,
  purpose: "email-verification" | "password-reset",
  id: string,
): string {
  return createHmac("sha256", secret).update(`${purpose}:${id}`).digest("base64url");
}
