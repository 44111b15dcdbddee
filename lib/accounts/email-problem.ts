import type { Tx } from "../context";

/** `forwarding_off`: the owner has told Apple not to forward the emails to a private address. */
type EmailProblem = "forwarding_off";

/** The state of an email that is new to its account. */
export const NO_EMAIL_PROBLEM = { emailProblem: null, emailProblemAt: null };

/**
 * Stores whether emails reach an account's owner at this address, unless a later report did. Returns whether that changed
 * anything: the account may have another email by now.
 */
export async function setEmailProblem(
  tx: Tx,
  account: { id: string; email: string },
  problem: EmailProblem | null,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.account.updateMany({
    where: { ...account, OR: [{ emailProblemAt: null }, { emailProblemAt: { lt: at } }] },
    data: { emailProblem: problem, emailProblemAt: at },
  });
  return count > 0;
}
