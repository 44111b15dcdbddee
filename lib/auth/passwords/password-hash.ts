import type { Context } from "../../context";
import { MAX_BCRYPT_BYTES, normalizePassword } from "./policy";

type Deps = Pick<Context, "config" | "hasher">;

/** Hashes a password that has passed `checkNewPassword`, with bcrypt at the configured cost. @throws AppError overloaded */
export function hashPassword({ config, hasher }: Deps, password: string): Promise<string> {
  return hasher.hash(password, config.BCRYPT_COST);
}

/**
 * Whether a password matches a hash. A mismatch takes the same time without a hash, and with one of a lower cost than
 * the configured one. @throws AppError overloaded
 */
export async function passwordMatches(
  { config, hasher }: Deps,
  password: string,
  hash: string | null,
): Promise<boolean> {
  const normalized = normalizePassword(password);
  const isWithinLimit = Buffer.byteLength(normalized) <= MAX_BCRYPT_BYTES;
  const matches = await hasher.compare(normalized, hash ?? dummyHash(config.BCRYPT_COST), config.BCRYPT_COST);
  return matches && isWithinLimit && hash !== null;
}

/** Whether a hash has a lower cost than the configured one. */
export function isOutdated({ config }: Pick<Context, "config">, hash: string): boolean {
  const cost = /^\$2[aby]\$(\d\d)\$/.exec(hash)?.[1];
  return cost !== undefined && Number(cost) < config.BCRYPT_COST;
}

/** A hash at a cost that no known password matches. */
function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, "0")}$${"homeportdummysaltvalue"}${"x".repeat(31)}`;
}
