import { createHash } from "node:crypto";
import { isUuid } from "../platform/db/ids";

/** The maximum number of App User IDs of one event; in a transfer, of either customer. */
const MAX_APP_USER_IDS_PER_EVENT = 100;
/** RevenueCat's ids for customers who have not signed in ("Identifying Customers"). */
const ANONYMOUS_PREFIX = "$RCAnonymousID:";

/**
 * Normalizes App User IDs for comparison: removes duplicates, moves anonymous ids to the end, and writes UUIDs in lower
 * case, as account ids are.
 */
export function normalizeAppUserIds(ids: string[]): string[] {
  const given = ids.map((id) => (isUuid(id) ? id.toLowerCase() : id));
  const anonymous = given.filter(isAnonymous);
  return [...new Set([...given.filter((id) => !isAnonymous(id)), ...anonymous])].slice(0, MAX_APP_USER_IDS_PER_EVENT);
}

/** Returns the ids that may be account ids, in order. */
export function possibleAccountIds(appUserIds: string[]): string[] {
  return appUserIds.filter(isUuid);
}

/** Whether RevenueCat generated the id for a customer who had not signed in. */
export function isAnonymous(appUserId: string): boolean {
  return appUserId.startsWith(ANONYMOUS_PREFIX);
}

const PSEUDONYM = /^deleted:[\w-]{43}$/;

/**
 * Returns the id that replaces all App User IDs of a deleted account: the SHA-256 of the account's id. It is found by the
 * account's id, which cannot be derived from it: 74 bits of the id are random (RFC 9562, section 5.7).
 */
export function pseudonymOf(accountId: string): string {
  return `deleted:${createHash("sha256").update(accountId).digest("base64url")}`;
}

/** Whether an id is the pseudonym of a deleted account. */
export function isPseudonym(appUserId: string): boolean {
  return PSEUDONYM.test(appUserId);
}
