import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** What every key begins with, so that people and secret scanners recognize it. */
export const KEY_PREFIX = "hp_";
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** The digits of 256 bits in base 62. */
const SECRET_LENGTH = 43;
/** The digits of 32 bits. */
const CHECKSUM_LENGTH = 6;
const KEYS = /hp_([0-9A-Za-z]{43})([0-9A-Za-z]{6})(?![0-9A-Za-z])/g;
/** The first characters of a key, which are stored in clear. */
const DISPLAYED_LENGTH = KEY_PREFIX.length + 4;

/**
 * Returns a new key: `hp_`, 256 random bits as 43 digits in base 62, and the CRC-32 of those digits as 6 digits. The
 * checksum lets a scanner tell a key from other text without a request, as with GitHub's tokens.
 */
export function generateApiKey(): string {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString("hex")}`), SECRET_LENGTH);
  return `${KEY_PREFIX}${secret}${checksumOf(secret)}`;
}

/** Whether a credential begins like an API key. Session tokens never do. */
export function hasKeyPrefix(text: string): boolean {
  return text.startsWith(KEY_PREFIX);
}

/** The keys in a text: those whose checksum is correct. */
export function findKeys(text: string): string[] {
  return [...text.matchAll(KEYS)]
    .filter(([, secret = "", checksum]) => checksumOf(secret) === checksum)
    .map(([key]) => key);
}

/** Whether a text is a key: one with another checksum was never issued. */
export function isApiKey(text: string): boolean {
  return findKeys(text)[0] === text;
}

/** The start of a key, which reveals nothing useful and identifies the key to its owner. */
export function displayedPrefix(key: string): string {
  return key.slice(0, DISPLAYED_LENGTH);
}

/** The hash by which a key is stored and found. A plain hash is enough: nobody can guess 256 random bits. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function checksumOf(secret: string): string {
  return toBase62(BigInt(crc32(secret)), CHECKSUM_LENGTH);
}

function toBase62(value: bigint, length: number): string {
  let digits = "";
  for (let rest = value; digits.length < length; rest /= 62n) digits = DIGITS.charAt(Number(rest % 62n)) + digits;
  return digits;
}
