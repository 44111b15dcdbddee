import { createHash } from "node:crypto";
import { toStorableText } from "../../text";

/** What PostgreSQL's and PGlite's JSON parsers take without running out of stack, with much to spare. */
const MOST_LEVELS = 64;
const EMAIL_ADDRESS = /^[^\s@]+@[^\s@]+$/;
const HASHED = "sha256:";

/**
 * A JSON value as the inbox keeps it: storable text throughout; what lies too deep becomes null; an e-mail address
 * becomes its hash, which tells customers apart as well as the address and mails nobody.
 */
export function storableJson(value: unknown, levels = MOST_LEVELS): unknown {
  if (typeof value === "string") return withoutAddress(toStorableText(value));
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((item) => storableJson(item, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [toStorableText(name), storableJson(item, levels - 1)]),
  );
}

/** Whether a customer's name was an e-mail address: the provider knows nobody by its hash. */
export function isHashed(name: string): boolean {
  return name.startsWith(HASHED);
}

function withoutAddress(text: string): string {
  if (!EMAIL_ADDRESS.test(text)) return text;
  return `${HASHED}${createHash("sha256").update(text.toLowerCase()).digest("hex")}`;
}
