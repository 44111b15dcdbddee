import { randomInt } from "node:crypto";

/** Letters that form no words and are not taken for each other (RFC 8628, section 6.1). */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const LENGTH = 8;
const GROUP_LENGTH = 4;

/** A random code for a person to type: 34 bits, "WDJB-MJHT". */
export function newUserCode(): string {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${letters.slice(0, GROUP_LENGTH)}-${letters.slice(GROUP_LENGTH)}`;
}

/** A code as it was typed, without regard to case and to what is between the letters; null if it cannot be one. */
export function parseUserCode(typed: string): string | null {
  const letters = typed.toUpperCase().replace(/[\s-]/g, "");
  const isCode = letters.length === LENGTH && [...letters].every((letter) => ALPHABET.includes(letter));
  return isCode ? `${letters.slice(0, GROUP_LENGTH)}-${letters.slice(GROUP_LENGTH)}` : null;
}
