import { randomBytes } from "node:crypto";
import type { Context } from "../../context";
import { passkeyInvalid } from "./errors";

/** What a challenge is for. A response to it is accepted for nothing else. */
export type PasskeyPurpose = "registration" | "sign-in" | "second-factor" | "step-up";

/** `accountId` is null for a sign-in, whose passkey names the account. */
type Binding = { purpose: PasskeyPurpose; accountId: string | null };

/** The lower end of the recommended range (Web Authentication Level 3, section 15.1). */
export const CHALLENGE_TTL_MS = 5 * 60 * 1000;

/** Issues a challenge of 256 random bits, in base64url. It works once, within five minutes. */
export async function issueChallenge({ db, now }: Pick<Context, "db" | "now">, binding: Binding): Promise<string> {
  const challenge = randomBytes(32).toString("base64url");
  const expiresAt = new Date(now().getTime() + CHALLENGE_TTL_MS);
  await db.passkeyChallenge.create({ data: { challenge, ...binding, expiresAt } });
  return challenge;
}

/**
 * Uses up a challenge: of concurrent calls, one succeeds.
 * @throws AppError passkey_invalid if it is unknown, used or expired, or was issued for another purpose or account
 */
export async function consumePasskeyChallenge(
  { db, now }: Pick<Context, "db" | "now">,
  challenge: string,
  { purpose, accountId }: Binding,
): Promise<void> {
  const where = { challenge, purpose, accountId, expiresAt: { gt: now() } };
  const { count } = await db.passkeyChallenge.deleteMany({ where });
  if (count === 0) throw passkeyInvalid("challenge_invalid");
}
