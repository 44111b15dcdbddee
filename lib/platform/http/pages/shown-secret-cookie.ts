import type { Context } from "../../../context";
import { formOperation } from "../../../operation";
import type { ReadableHeaders } from "../../http-message";
import { decryptSecret, encryptSecret } from "../../keys/stored-secrets";
import { parseCookies, setCookie, setShortCookie, shownSecretCookieName } from "../cookies";

type Deps = Pick<Context, "config" | "db">;

/** Long enough to copy it. */
const TTL_SECONDS = 5 * 60;

/**
 * The Set-Cookie header that carries a new secret over the redirect to the page that shows it: the database has only
 * its hash. It is encrypted, and only this account's page for this `kind` can read it.
 */
export async function setShownSecretCookie(
  ctx: Deps,
  accountId: string,
  kind: string,
  secret: string,
): Promise<string> {
  const value = await encryptSecret(ctx, purposeOf(accountId, kind), secret);
  return setShortCookie(ctx.config, shownSecretCookieName(ctx.config), value, TTL_SECONDS);
}

/** The Set-Cookie header that removes it, once it is saved elsewhere. */
export function clearShownSecretCookie({ config }: Pick<Deps, "config">): string {
  return setCookie(config, shownSecretCookieName(config), null, new Date(0));
}

/** The secret to show; null if there is none of this kind for this account. */
export async function readShownSecret(
  ctx: Deps,
  accountId: string,
  kind: string,
  headers: ReadableHeaders,
): Promise<string | null> {
  const value = parseCookies(headers.get("cookie"))[shownSecretCookieName(ctx.config)];
  if (!value) return null;
  return decryptSecret(ctx, purposeOf(accountId, kind), value).catch(() => null);
}

export const forgetShownSecret = formOperation({
  id: "forgetShownSecret",
  summary: "Stop showing a new secret",
  role: "support",
  run: () => undefined,
  form: { after: () => ({ secret: null }) },
});

function purposeOf(accountId: string, kind: string): string {
  return `shown:${kind}:${accountId}`;
}
