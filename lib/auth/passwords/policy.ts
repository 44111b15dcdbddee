import type { Context } from "../../context";
import { AppError } from "../../errors";
import { isCommonPassword } from "./common-passwords";

/** bcrypt reads no more than this and says nothing about the rest. */
export const MAX_BCRYPT_BYTES = 72;
const MAX_CODE_POINTS = 256;
const PRODUCT = "homeport";
/** Shorter words stand in many a good password. */
const MIN_WORD_LENGTH = 3;

/** NFKC (NIST SP 800-63B-4, 3.1.1.2), so that one password typed on two keyboards is one password. */
export const normalizePassword = (password: string): string => password.normalize("NFKC");

/**
 * Holds a new password against what can be said of it alone: its length, the common ones, the product's name.
 * Returns it normalised. @throws AppError validation_failed, pointing at `/password`.
 */
export async function checkNewPassword({ config }: Pick<Context, "config">, password: string): Promise<string> {
  const normalized = normalizePassword(password);
  const length = [...normalized].length;
  if (length < config.AUTH_PASSWORD_MIN) {
    throw passwordError("too_short", `Must be at least ${config.AUTH_PASSWORD_MIN} characters long`);
  }
  if (length > MAX_CODE_POINTS || Buffer.byteLength(normalized) > MAX_BCRYPT_BYTES) {
    throw passwordError("too_long", `Must be at most ${MAX_BCRYPT_BYTES} bytes long in UTF-8`);
  }
  if (isMadeOf(normalized, PRODUCT) || (await isCommonPassword(normalized))) {
    throw passwordError("too_common", "Is one of the passwords that are tried first");
  }
  return normalized;
}

/**
 * Refuses a password that is its owner's address, or what stands before the @, with digits or signs around it or
 * not. @throws AppError validation_failed, pointing at `/password`.
 */
export function rejectOwnEmail(normalized: string, email: string): void {
  const words = [email, email.slice(0, email.lastIndexOf("@"))];
  if (words.some((word) => isMadeOf(normalized, word))) {
    throw passwordError("too_guessable", "Must not be your e-mail address");
  }
}

/**
 * Refuses a password that is known from a breach, where `AUTH_BREACH_CHECK` is on. Goes out to another service:
 * count the request first. @throws AppError validation_failed, pointing at `/password`.
 */
export async function rejectBreached({ breaches }: Pick<Context, "breaches">, normalized: string): Promise<void> {
  if (await breaches(normalized)) throw passwordError("breached", "Is known from a breach of another service");
}

function passwordError(code: string, detail: string): AppError {
  return new AppError("validation_failed", { errors: [{ pointer: "/password", code, detail }] });
}

/** Whether a password is a word, whatever its case and whatever digits and signs stand around it. */
function isMadeOf(password: string, word: string): boolean {
  const [given, plain] = [password.toLowerCase(), word.toLowerCase()];
  return given === plain || (bare(plain).length >= MIN_WORD_LENGTH && bare(given) === bare(plain));
}

/** Without what is neither letter nor mark at both ends. */
function bare(text: string): string {
  return text.replace(/^[^\p{L}\p{M}]+/u, "").replace(/[^\p{L}\p{M}]+$/u, "");
}
