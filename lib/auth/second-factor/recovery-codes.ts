import { createHash, randomBytes } from "node:crypto";
import type { Tx } from "../../context";

export const RECOVERY_CODE_COUNT = 10;
/** Crockford's base32: no letter is taken for a digit or for another letter. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 120 random bits, five in each character. From 112 bits on, a plain hash protects a code (OWASP ASVS 5.0, 6.5.2). */
const LENGTH = 24;
const LOOK_ALIKES: Record<string, string> = { O: "0", I: "1", L: "1" };

/** A new code for a person to keep: "7K3M9Q-WX2B4N-…". */
export function newRecoveryCode(): string {
  const characters = [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return characters.replace(/.{6}(?=.)/g, "$&-");
}

/** The hash of a code as it was typed, whatever the case, the look-alikes and the characters between the groups. */
export function hashRecoveryCode(typed: string): string {
  const bare = typed.toUpperCase().replace(/[\s-]/g, "");
  const characters = bare.replace(/[OIL]/g, (letter) => LOOK_ALIKES[letter] ?? letter);
  return createHash("sha256").update(characters).digest("base64url");
}

/** Replaces an account's recovery codes. Returns the new ones, which are stored as hashes and cannot be retrieved again. */
export async function replaceRecoveryCodes(
  tx: Tx,
  createdAt: Date,
  accountId: string,
  length = RECOVERY_CODE_COUNT,
): Promise<string[]> {
  const codes = Array.from({ length }, newRecoveryCode);
  await tx.recoveryCode.deleteMany({ where: { accountId } });
  await tx.recoveryCode.createMany({
    data: codes.map((code) => ({ accountId, codeHash: hashRecoveryCode(code), createdAt })),
  });
  return codes;
}

/** Whether a code is the account's and unused. */
export async function isUnusedRecoveryCode(db: Tx, accountId: string, typed: string): Promise<boolean> {
  return (await db.recoveryCode.count({ where: unusedCode(accountId, typed) })) > 0;
}

/** Uses up a code. Returns whether it was the account's and unused: of concurrent calls one gets true. */
export async function consumeRecoveryCode(tx: Tx, usedAt: Date, accountId: string, typed: string): Promise<boolean> {
  const { count } = await tx.recoveryCode.updateMany({ where: unusedCode(accountId, typed), data: { usedAt } });
  return count === 1;
}

const unusedCode = (accountId: string, typed: string) => ({
  accountId,
  codeHash: hashRecoveryCode(typed),
  usedAt: null,
});
