import type { Context } from "../../context";
import { AppError } from "../../errors";

const MAX_CODE_POINTS = 256;
const PRODUCT = "homeport";
/** Shorter words are part of many good passwords. */
const MIN_WORD_LENGTH = 3;

/** Normalizes to NFKC (NIST SP 800-63B-4, 3.1.1.2), so that a password is the same from any keyboard. */
export const normalizePassword = (password: string): string => password.normalize("NFKC");

/**
 * Checks a new password, and returns it normalized. `pointer` is the field of the request.
 * @throws AppError validation_failed
 */
export async function checkNewPassword(
  { config }: Pick<Context, "config">,
  password: string,
  pointer = "/password",
): Promise<string> {
  const normalized = normalizePassword(password);
  const length = [...normalized].length;
  const refuse = (code: string, detail: string) => passwordError(pointer, code, detail);
  if (length < config.AUTH_PASSWORD_MIN) {
    throw refuse("too_short", `Must be at least ${config.AUTH_PASSWORD_MIN} characters long`);
  }
  if (length > MAX_CODE_POINTS) {
    throw refuse("too_long", `Must be at most ${MAX_CODE_POINTS} characters long`);
  }
  if (isMadeOf(normalized, PRODUCT) || (await isCommonPassword(normalized))) {
    throw refuse("too_common", "This password is too common");
  }
  return normalized;
}

/** Refuses a password made of the owner's email, or of its local part. @throws AppError validation_failed */
export function rejectOwnEmail(normalized: string, email: string, pointer = "/password"): void {
  const words = [email, email.slice(0, email.lastIndexOf("@"))];
  if (words.some((word) => isMadeOf(normalized, word))) {
    throw passwordError(pointer, "too_guessable", "Must not be your email address");
  }
}

/**
 * Refuses a password that is known from a data breach, if `AUTH_BREACH_CHECK` is on. Sends a request to another service,
 * so callers consume a limit first. @throws AppError validation_failed
 */
export async function rejectBreached(
  { breaches }: Pick<Context, "breaches">,
  normalized: string,
  pointer = "/password",
): Promise<void> {
  if (await breaches(normalized)) throw passwordError(pointer, "breached", "This password appeared in a data breach");
}

function passwordError(pointer: string, code: string, detail: string): AppError {
  return new AppError("validation_failed", { errors: [{ pointer, code, detail }] });
}

/** Whether a password is a word, case-insensitive, with or without digits and symbols around it. */
function isMadeOf(password: string, word: string): boolean {
  const [given, plain] = [password.toLowerCase(), word.toLowerCase()];
  const core = trimNonLetters(plain);
  return given === plain || (core.length >= MIN_WORD_LENGTH && trimNonLetters(given) === core);
}

function trimNonLetters(text: string): string {
  return /[\p{L}\p{M}](?:.*[\p{L}\p{M}])?/su.exec(text)?.[0] ?? "";
}

/** The lowest value of AUTH_PASSWORD_MIN. */
const MIN_LENGTH = 8;

let list: Promise<ReadonlySet<string>> | undefined;

/**
 * Whether a password, case-insensitive, is one of the 18,000 most common ones with at least 8 characters, by zxcvbn's
 * list (NIST SP 800-63B-4, 3.1.1.2). The first call loads the list.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  list ??= loadList();
  return (await list).has(password.toLowerCase());
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].filter((word) => word.length >= MIN_LENGTH));
}
