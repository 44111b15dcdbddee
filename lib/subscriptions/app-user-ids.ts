import { createHash } from "node:crypto";
import { isUuid } from "../db/ids";

const MAX_APP_USER_IDS = 100;
/** RevenueCat's names for people who have not signed in ("Identifying Customers"). */
const ANONYMOUS = "$RCAnonymousID:";

/**
 * Customer names as they are compared: once each, in order but for anonymous ones, which come last; UUIDs in lower
 * case, as account ids are.
 */
export function normalizeAppUserIds(names: string[]): string[] {
  const given = names.map((name) => (isUuid(name) ? name.toLowerCase() : name));
  const anonymous = given.filter(isAnonymous);
  return [...new Set([...given.filter((name) => !isAnonymous(name)), ...anonymous])].slice(0, MAX_APP_USER_IDS);
}

/** The names that may be account ids, in order. */
export function possibleAccountIds(appUserIds: string[]): string[] {
  return appUserIds.filter((name) => isUuid(name));
}

/** Whether a name is one that RevenueCat made up for somebody who had not signed in. */
export function isAnonymous(name: string): boolean {
  return name.startsWith(ANONYMOUS);
}

const PSEUDONYM = /^deleted:[\w-]{43}$/;

/**
 * The name that takes the place of all that a deleted account had: SHA-256 of its id. Whoever knows the id finds what
 * was bought under it, and nobody guesses the id back: 74 of its bits are random (RFC 9562, section 5.7).
 */
export function pseudonymOf(accountId: string): string {
  return `deleted:${createHash("sha256").update(accountId).digest("base64url")}`;
}

/** Whether a name stands for a deleted account. */
export function isPseudonym(name: string): boolean {
  return PSEUDONYM.test(name);
}
