import type { Caller } from "../auth/credentials";
import { recordSecurityEvent } from "../auth/security-events";
import { askForProof, mayMail } from "../auth/verification";
import type { Context } from "../context";
import type { Register } from "./schema";

type Deps = Pick<Context, "config" | "db" | "limits" | "mails" | "now">;

/**
 * Registers an address that has yet to be proven, without telling the caller whether it has an account: its owner
 * is mailed a link to confirm, or a word that the account is there. Nothing about an account that exists changes.
 */
export async function claimAddress(
  ctx: Deps,
  { email, name }: Pick<Register, "email" | "name">,
  passwordHash: string,
  caller: Caller,
): Promise<void> {
  if (!(await mayMail(ctx, email))) return;
  const now = ctx.now();
  await ctx.db.$transaction(async (tx) => {
    const data = [{ email, name, passwordHash, createdAt: now }];
    const { count } = await tx.account.createMany({ data, skipDuplicates: true });
    const account = await tx.account.findUniqueOrThrow({ where: { email } });
    if (count > 0) await recordSecurityEvent(tx, now, account.id, "registered", caller);
    if (account.emailVerifiedAt) return ctx.mails.post(tx, "registered_already", email);
    return askForProof(ctx, tx, account, count > 0 ? null : passwordHash);
  });
  ctx.mails.wake();
}
