import type { Context } from "../../../context";
import type { ReadableHeaders } from "../../http-message";
import { decryptSecret, encryptSecret } from "../../keys/stored-secrets";
import { parseCookies, recoveryCodesCookieName, setCookie, setShortCookie } from "../cookies";

type Deps = Pick<Context, "config" | "db">;

/** Long enough to write ten codes down. */
const TTL_SECONDS = 10 * 60;

/**
 * The Set-Cookie header that carries new recovery codes over the redirect to the page that shows them: the database has
 * only their hashes. It is encrypted, and only this account's page can read it.
 */
export async function setShownCodesCookie(ctx: Deps, accountId: string, codes: readonly string[]): Promise<string> {
  const value = await encryptSecret(ctx, purposeOf(accountId), codes.join(" "));
  return setShortCookie(ctx.config, recoveryCodesCookieName(ctx.config), value, TTL_SECONDS);
}

/** The Set-Cookie header that removes them, once they are saved elsewhere. */
export function clearShownCodesCookie({ config }: Pick<Deps, "config">): string {
  return setCookie(config, recoveryCodesCookieName(config), null, new Date(0));
}

/** The recovery codes to show; null if there are none for this account. */
export async function readShownCodes(ctx: Deps, accountId: string, headers: ReadableHeaders): Promise<string[] | null> {
  const value = parseCookies(headers.get("cookie"))[recoveryCodesCookieName(ctx.config)];
  if (!value) return null;
  const text = await decryptSecret(ctx, purposeOf(accountId), value).catch(() => null);
  return text === null ? null : text.split(" ");
}

function purposeOf(accountId: string): string {
  return `recovery-codes:${accountId}`;
}
