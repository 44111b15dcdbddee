import type { Context } from "../../context";
import { MAX_BCRYPT_BYTES, normalizePassword } from "./policy";

type Deps = Pick<Context, "config" | "hasher">;

/** bcrypt at the configured cost. `password` has passed `checkNewPassword`. @throws AppError overloaded */
export function hashPassword({ config, hasher }: Deps, password: string): Promise<string> {
  return hasher.hash(password, config.BCRYPT_COST);
}

/**
 * Whether a password belongs to a hash. Without a hash, and with one of a lower cost than is configured now, a
 * refusal takes as long. @throws AppError overloaded
 */
export async function passwordMatches(
  { config, hasher }: Deps,
  password: string,
  hash: string | null,
): Promise<boolean> {
  const normalized = normalizePassword(password);
  const fits = Buffer.byteLength(normalized) <= MAX_BCRYPT_BYTES;
  const matches = await hasher.compare(normalized, hash ?? dummyHash(config.BCRYPT_COST), config.BCRYPT_COST);
  return matches && fits && hash !== null;
}

/** Whether a hash was made at a lower cost than is configured now. */
export function isOutdated({ config }: Pick<Context, "config">, hash: string): boolean {
  const cost = /^\$2[aby]\$(\d\d)\$/.exec(hash)?.[1];
  return cost !== undefined && Number(cost) < config.BCRYPT_COST;
}

/** A hash of the right cost that no password is known for. */
function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, "0")}$${"homeportdummysaltvalue"}${"x".repeat(31)}`;
}
