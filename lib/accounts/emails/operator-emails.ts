import type { Context, Tx } from "../../context";
import type { EmailData } from "../../mail/emails";

type Deps = Pick<Context, "config"> & { emails: Pick<Context["emails"], "enqueue"> };

/** Queues an email to every operator: those of OPERATOR_EMAIL, or the accounts with the role admin. */
export async function queueRolloutHalted(
  { config, emails }: Deps,
  tx: Tx,
  halted: EmailData["rollout_halted"],
): Promise<void> {
  const given = config.OPERATOR_EMAIL;
  for (const email of given.length > 0 ? given : await adminEmails(tx)) {
    await emails.enqueue(tx, "rollout_halted", email, halted);
  }
}

async function adminEmails(tx: Tx): Promise<string[]> {
  const where = { role: "admin", disabledAt: null, emailVerifiedAt: { not: null } } as const;
  const admins = await tx.account.findMany({ where, select: { email: true }, orderBy: { email: "asc" } });
  return admins.map(({ email }) => email);
}
