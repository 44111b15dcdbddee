/** Returns whether a password is in a known breach. Never throws: an unavailable service counts as not found. */
export type BreachLookup = (password: string) => Promise<boolean>;
