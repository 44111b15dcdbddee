import { z } from "zod";
import type { Caller } from "../audit/caller";
import { recordSecurityEvent } from "../audit/security-events";
import type { Context, Tx } from "../context";
import { AppError, type FieldError } from "../errors";
import type { Principal } from "./authenticate";
import { PasskeyAssertion } from "./passkeys/schema";
import { verifyPasskeyAssertion } from "./passkeys/verify-assertion";
import { confirmPassword } from "./passwords/confirm-password";
import { type Aal, type Amr, FRESH_SECONDS, isFresh } from "./sessions/authentication";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** What a signed-in user proves again. Spread its shape into the body of a route that may require it. */
export const StepUpProof = z.object({
  password: z.string().max(1024).optional().describe("The account's password."),
  passkey: PasskeyAssertion.optional().describe(
    "An assertion over the options of `POST /api/auth/passkeys/step-up/options`.",
  ),
});
export type StepUpProof = z.infer<typeof StepUpProof>;

/** A session's authentication after it was renewed. */
export const Reauthenticated = z.object({
  authenticatedAt: z.date(),
  aal: z.int().min(1).max(2).describe("The authenticator assurance level (NIST SP 800-63B-4): 2 with two factors."),
  amr: z.array(z.string()).describe("How the session's user was authenticated (RFC 8176)."),
});
type Reauthenticated = z.infer<typeof Reauthenticated>;

type Options = {
  /** How recent an authentication at the account's level suffices without a proof. */
  freshSeconds?: number;
  /** The password is required in any case, if the account has one. */
  isPasswordRequired?: boolean;
};

/**
 * Requires a recent authentication for a sensitive action (OWASP ASVS 5.0, 7.5.3): the session's, if it is at most
 * `freshSeconds` old and at the account's level, or else a proof, which also renews the session. A proof that is given is
 * checked even if it is not needed.
 * @throws AppError reauthentication_required, whose `errors` name the fields of which one would do; without them, only a
 *   new sign-in does; passkey_invalid, rate_limited, overloaded
 */
export async function requireStepUp(
  ctx: Deps,
  principal: Principal,
  proof: StepUpProof,
  caller: Caller,
  { freshSeconds = FRESH_SECONDS, isPasswordRequired = false }: Options = {},
): Promise<void> {
  const methods = await readStepUpMethods(ctx, principal, freshSeconds);
  requireProof(methods, proof, isPasswordRequired);
  const amr = await checkProof(ctx, principal.account.id, methods, proof, caller);
  if (amr.length > 0) await ctx.db.$transaction((tx) => renewSession(tx, ctx.now(), principal, methods.level, amr));
}

/**
 * Authenticates a signed-in user again, so that the session counts as recent.
 * @throws AppError reauthentication_required, passkey_invalid, rate_limited, overloaded
 */
export async function reauthenticate(
  ctx: Deps,
  principal: Principal,
  proof: StepUpProof,
  caller: Caller,
): Promise<Reauthenticated> {
  const methods = { ...(await readStepUpMethods(ctx, principal)), isFresh: false };
  requireProof(methods, proof, false);
  const amr = await checkProof(ctx, principal.account.id, methods, proof, caller);
  return ctx.db.$transaction(async (tx) => {
    const now = ctx.now();
    const renewed = await renewSession(tx, now, principal, methods.level, amr);
    await recordSecurityEvent(tx, now, principal.account.id, "reauthenticated", caller, { details: { amr } });
    return renewed;
  });
}

/** How an account can authenticate again, and whether its session does without. */
export type StepUpMethods = { level: Aal; isFresh: boolean; passwordHash: string | null; hasPasskey: boolean };

/** Reads how a signed-in account can authenticate again. Its level is 2 if it has a second factor. */
export async function readStepUpMethods(
  { db, now }: Pick<Context, "now"> & { db: Tx },
  { account, session }: { account: { id: string }; session: { authenticatedAt: Date; aal: number } },
  freshSeconds = FRESH_SECONDS,
): Promise<StepUpMethods> {
  const where = { id: account.id };
  const select = { passwordHash: true, passkeys: { select: { id: true }, take: 1 } };
  const { passwordHash, passkeys } = await db.account.findUniqueOrThrow({ where, select });
  const level: Aal = 1;
  const hasRecentProof = isFresh(session, { aal: level, freshSeconds, now: now() });
  return { level, isFresh: hasRecentProof, passwordHash, hasPasskey: passkeys.length > 0 };
}

/** @throws AppError reauthentication_required if a proof is missing */
function requireProof(methods: StepUpMethods, proof: StepUpProof, isPasswordRequired: boolean): void {
  const fields = fieldsThatDo(methods, isPasswordRequired);
  if (fields.some((field) => proof[field] !== undefined)) return;
  if (methods.isFresh && !(isPasswordRequired && methods.passwordHash !== null)) return;
  const errors = fields.map((field): FieldError => ({ pointer: `/${field}`, code: "required", detail: "Is required" }));
  throw new AppError("reauthentication_required", errors.length > 0 ? { errors } : {});
}

/** The fields of which one is a proof. */
function fieldsThatDo({ passwordHash, hasPasskey }: StepUpMethods, isPasswordRequired: boolean) {
  const fields: (keyof StepUpProof)[] = passwordHash === null ? [] : ["password"];
  return hasPasskey && !(isPasswordRequired && passwordHash !== null) ? [...fields, "passkey" as const] : fields;
}

/** Checks the fields that are given. Returns how they authenticate the user. */
async function checkProof(
  ctx: Deps,
  id: string,
  { passwordHash }: StepUpMethods,
  { password, passkey }: StepUpProof,
  caller: Caller,
): Promise<Amr[]> {
  const isByPassword = password !== undefined && passwordHash !== null;
  if (isByPassword) await confirmPassword(ctx, { id, passwordHash }, password, caller);
  const byPassword: Amr[] = isByPassword ? ["pwd"] : [];
  if (passkey === undefined) return byPassword;
  const { amr } = await verifyPasskeyAssertion(ctx, passkey, { accountId: id, purpose: "step-up" }, caller);
  return [...byPassword, ...amr];
}

/** Makes the session's authentication recent. @throws AppError unauthenticated if the session has ended since */
async function renewSession(
  tx: Tx,
  now: Date,
  { session }: Principal,
  level: Aal,
  amr: readonly Amr[],
): Promise<Reauthenticated> {
  const renewed = {
    authenticatedAt: now,
    aal: Math.max(session.aal, amr.includes("mfa") ? 2 : level),
    amr: [...new Set([...session.amr, ...amr])],
  };
  const where = { id: session.id, revokedAt: null };
  const { count } = await tx.session.updateMany({ where, data: renewed });
  if (count === 0) throw new AppError("unauthenticated");
  return renewed;
}
