import { createHmac } from "node:crypto";
import type { Context } from "../../context";
import { importedInput, isImported } from "./imported-hash";
import { normalizePassword } from "./policy";

type Deps = Pick<Context, "config" | "hasher">;

/** bcrypt silently ignores the bytes after these. */
const MAX_BCRYPT_BYTES = 72;
/** Not a secret. With it, hashes that leaked from another service cannot be tried here instead of passwords. */
const LONG_PASSWORD_KEY = "homeport long password";

/** Hashes a password that has passed `checkNewPassword`, with bcrypt at the configured cost. @throws AppError overloaded */
export function hashPassword({ config, hasher }: Deps, password: string): Promise<string> {
  return hasher.hash(bcryptInput(password), config.BCRYPT_COST);
}

/** Whether a password matches a hash. Without one, takes as long as a mismatch of `dummy`. @throws AppError overloaded */
export async function isPasswordCorrect(
  { config, hasher }: Deps,
  password: string,
  hash: string | null,
  dummy = dummyHash(config.BCRYPT_COST),
): Promise<boolean> {
  const compared = hash ?? dummy;
  const input = isImported(compared) ? importedInput(password, compared) : bcryptInput(normalizePassword(password));
  const matches = await hasher.compare(input, compared);
  return matches && hash !== null;
}

/** Whether a hash is imported, or has a lower cost than the configured one. */
export function isOutdated({ config }: Pick<Context, "config">, hash: string): boolean {
  const cost = /^\$2[aby]\$(\d\d)\$/.exec(hash)?.[1];
  return isImported(hash) || (cost !== undefined && Number(cost) < config.BCRYPT_COST);
}

/** What bcrypt hashes: the password, or 64 characters that depend on all of it if bcrypt would ignore a part. */
function bcryptInput(password: string): string {
  if (Buffer.byteLength(password) <= MAX_BCRYPT_BYTES) return password;
  return createHmac("sha384", LONG_PASSWORD_KEY).update(password).digest("base64");
}

/** A hash at a cost that no known password matches. */
export function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, "0")}$${"homeportdummysaltvalue"}${"x".repeat(31)}`;
}
