import { createHash } from "node:crypto";
import { toStorableText } from "../platform/storable";

/** Far less than the depth at which the JSON parsers of PostgreSQL and PGlite run out of stack. */
const MAX_DEPTH = 64;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const HASH_PREFIX = "sha256:";

/**
 * Prepares a JSON value for the inbox. Makes all texts storable, replaces what is nested too deeply by null, and
 * replaces email addresses by their hashes, which still distinguish customers.
 */
export function sanitizeJson(value: unknown, depth = MAX_DEPTH): unknown {
  if (typeof value === "string") return hashEmail(toStorableText(value));
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((item) => sanitizeJson(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [toStorableText(name), sanitizeJson(item, depth - 1)]),
  );
}

/** Returns an App User ID as the inbox has it: an email as its hash. */
export const toStoredId = (appUserId: string): string => hashEmail(toStorableText(appUserId));

/** Whether an App User ID is a hashed email. The provider's API does not know the hash. */
export function isHashedEmail(appUserId: string): boolean {
  return appUserId.startsWith(HASH_PREFIX);
}

function hashEmail(text: string): string {
  if (!EMAIL.test(text)) return text;
  return `${HASH_PREFIX}${createHash("sha256").update(text.toLowerCase()).digest("hex")}`;
}
