import type { Context } from "../context";
import { AppError } from "../errors";

type Deps = Pick<Context, "config" | "hasher">;

/** bcrypt reads no more than this and says nothing about the rest. */
const BCRYPT_BYTES = 72;
const MOST_CODE_POINTS = 256;

/** NFKC (NIST SP 800-63B-4, 3.1.1.2), so that one password typed on two keyboards is one password. */
const normalizePassword = (password: string): string => password.normalize("NFKC");

/**
 * Holds a new password against the policy. Returns it normalised.
 * @throws AppError validation_failed, pointing at `/password`.
 */
export function checkNewPassword({ config }: Pick<Context, "config">, password: string): string {
  const normalized = normalizePassword(password);
  const length = [...normalized].length;
  const refuse = (code: string, detail: string) => {
    throw new AppError("validation_failed", { errors: [{ pointer: "/password", code, detail }] });
  };
  if (length < config.AUTH_PASSWORD_MIN)
    refuse("too_short", `Must be at least ${config.AUTH_PASSWORD_MIN} characters long`);
  if (length > MOST_CODE_POINTS || Buffer.byteLength(normalized) > BCRYPT_BYTES) {
    refuse("too_long", `Must be at most ${BCRYPT_BYTES} bytes long in UTF-8`);
  }
  return normalized;
}

/** bcrypt at the configured cost. `password` has passed `checkNewPassword`. @throws AppError overloaded */
export function hashPassword({ config, hasher }: Deps, password: string): Promise<string> {
  return hasher.hash(password, config.BCRYPT_COST);
}

/**
 * Whether a password belongs to a hash. Without a hash the comparison costs the same and fails.
 * @throws AppError overloaded
 */
export async function passwordMatches(
  { config, hasher }: Deps,
  password: string,
  hash: string | null,
): Promise<boolean> {
  const normalized = normalizePassword(password);
  const fits = Buffer.byteLength(normalized) <= BCRYPT_BYTES;
  const matches = await hasher.compare(normalized, hash ?? dummyHash(config.BCRYPT_COST));
  return matches && fits && hash !== null;
}

/** A hash of the right cost that no password is known for. */
function dummyHash(cost: number): string {
  return `$2b$${String(cost).padStart(2, "0")}$${"homeportdummysaltvalue"}${"x".repeat(31)}`;
}
