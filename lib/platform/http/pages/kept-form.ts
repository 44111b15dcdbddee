import { z } from "zod";
import type { Context } from "../../../context";
import type { Principal } from "../../../principal";
import { cookieName, readEncryptedCookie, setCookie, setEncryptedCookie } from "../cookies";
import { Flash, MAX_COOKIE_LENGTH, newFlashId } from "./flash";

type Deps = Pick<Context, "config" | "now">;

/** As long as a person may take to sign in again. */
const TTL_SECONDS = 60 * 60;
const MAX_CONFIRMATION_AGE_MS = 60_000;

const Kept = Flash.extend({ accountId: z.string(), keptAt: z.number() });

/**
 * Keeps what a person has submitted while they sign in again, or confirm that it is them: for an hour, and for the same
 * account only. `flash` must not contain a secret. Returns the flash's id and the Set-Cookie header; null if it is too long.
 */
export async function keepForm(
  { config, now }: Deps,
  accountId: string,
  flash: Omit<Flash, "id">,
): Promise<{ id: string; cookie: string } | null> {
  const id = newFlashId();
  const claims = { ...flash, id, accountId, keptAt: now().getTime() };
  const name = cookieName(config, "keptForm");
  const cookie = await setEncryptedCookie(config, now(), { name, claims, ttlSeconds: TTL_SECONDS });
  return cookie.length > MAX_COOKIE_LENGTH ? null : { id, cookie };
}

/**
 * What the browser keeps for the account under this id; null if there is nothing. Only right after a confirmation it is to
 * be sent at once: somebody who cancels, and comes back later, decides again.
 */
export async function readKeptForm(
  { config, now }: Deps,
  { account, session }: Pick<Principal, "account" | "session">,
  cookieHeader: string | null,
  id: string | undefined,
): Promise<Flash | null> {
  const kept = await readCookie(config, cookieHeader);
  const nowMs = now().getTime();
  if (!kept || kept.id !== id || kept.accountId !== account.id) return null;
  if (nowMs - kept.keptAt >= TTL_SECONDS * 1000) return null;
  const confirmedMs = session.authenticatedAt.getTime();
  const isConfirmed = confirmedMs >= kept.keptAt && nowMs - confirmedMs < MAX_CONFIRMATION_AGE_MS;
  return kept.resume === "now" && !isConfirmed ? { ...kept, resume: "ask" } : kept;
}

/** The Set-Cookie header that removes the form that has now been sent; none if the browser keeps another one or none. */
export async function forgetSentForm({ config }: Pick<Deps, "config">, form: string, cookieHeader: string | null) {
  const kept = await readCookie(config, cookieHeader);
  return kept?.form === form ? [setCookie(config, cookieName(config, "keptForm"), null, new Date(0))] : [];
}

async function readCookie(config: Deps["config"], cookieHeader: string | null) {
  return Kept.safeParse(await readEncryptedCookie(config, cookieHeader, cookieName(config, "keptForm"))).data;
}
