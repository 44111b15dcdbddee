const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MOST_IDENTITIES = 100;
/** RevenueCat's names for people who have not signed in ("Identifying Customers"). */
const ANONYMOUS = "$RCAnonymousID:";

/**
 * Customer names as they are compared: once each, in order but for anonymous ones, which come last; UUIDs in lower
 * case, as account ids are.
 */
export function normalizeIdentities(names: string[]): string[] {
  const given = names.map((name) => (UUID.test(name) ? name.toLowerCase() : name));
  const anonymous = given.filter(isAnonymous);
  return [...new Set([...given.filter((name) => !isAnonymous(name)), ...anonymous])].slice(0, MOST_IDENTITIES);
}

/** The names that may be account ids, in order. */
export function possibleAccountIds(identities: string[]): string[] {
  return identities.filter((name) => UUID.test(name));
}

/** Whether a name is one that RevenueCat made up for somebody who had not signed in. */
export function isAnonymous(name: string): boolean {
  return name.startsWith(ANONYMOUS);
}
