import { z } from "zod";
import type { Context, Tx } from "../context";
import { AppError, isAppError } from "../errors";
import { recordSecurityEvent } from "../platform/audit/security-events";
import type { Caller, Principal } from "../principal";
import { PasskeyAssertion } from "./passkeys/schema";
import { verifyPasskeyAssertion } from "./passkeys/verify-assertion";
import { confirmPassword } from "./passwords/verify-password";
import { listSecondFactors } from "./second-factor/factors";
import { RecoveryCode, TotpCode } from "./second-factor/schema";
import { verifySecondFactor } from "./second-factor/verify-second-factor";
import {
  type Aal,
  type Amr,
  isFresh,
  MAX_AUTHENTICATION_AGE_SECONDS,
  placeOf,
  withSecondFactor,
} from "./sessions/authentication";

type Deps = Pick<Context, "config" | "db" | "hasher" | "limits" | "now">;

/** What a signed-in user proves again. Spread its shape into the body of a route that may require it. */
export const StepUpProof = z.object({
  password: z.string().max(1024).optional().describe("The account's password."),
  code: TotpCode.optional(),
  recoveryCode: RecoveryCode.optional(),
  passkey: PasskeyAssertion.optional().describe(
    "An assertion over the options of `POST /api/auth/passkeys/step-up/options`.",
  ),
});
export type StepUpProof = z.infer<typeof StepUpProof>;
/** The codes that a proof can be answered with. */
export const STEP_UP_ERRORS = ["reauthentication_required", "passkey_invalid", "rate_limited", "overloaded"] as const;

/** A session's authentication after it was renewed. */
export const Reauthenticated = z.object({
  authenticatedAt: z.date(),
  aal: z.int().min(1).max(2).describe("The authenticator assurance level (NIST SP 800-63B-4): 2 with two factors."),
  amr: z.array(z.string()).describe("How the session's user was authenticated (RFC 8176)."),
});

type Options = {
  /** How recent an authentication at the account's level suffices without a proof. */
  maxAgeSeconds?: number;
  /** The password is required in any case, if the account has one. */
  isPasswordRequired?: boolean;
};

/**
 * Requires a recent authentication for a sensitive action (OWASP ASVS 5.0, 7.5.3): the session's, if it is at most
 * `maxAgeSeconds` old and at the account's level, or else a proof, which also renews the session. With a second factor,
 * the proof is that factor: a session and a password can be stolen together. A proof that is given is checked even if
 * it is not needed.
 * @throws AppError reauthentication_required, whose `errors` name the fields of which one would do; without them, only
 *   a new sign-in does; passkey_invalid, rate_limited, overloaded
 */
export async function requireStepUp(
  ctx: Deps,
  principal: Principal,
  proof: StepUpProof,
  caller: Caller,
  { maxAgeSeconds = MAX_AUTHENTICATION_AGE_SECONDS, isPasswordRequired = false }: Options = {},
): Promise<void> {
  const methods = await readStepUpMethods(ctx, principal, maxAgeSeconds);
  requireProof(methods, proof, isPasswordRequired);
  const amr = await checkProof(ctx, principal.account.id, methods, proof, caller);
  if (!isSufficient(methods, amr)) return;
  await ctx.db.$transaction((tx) => renewSession(tx, ctx.now(), principal, methods.aal, amr, caller));
}

/**
 * Authenticates a signed-in user again, so that the session counts as recent.
 * @throws AppError reauthentication_required, passkey_invalid, rate_limited, overloaded
 */
export async function reauthenticate(ctx: Deps, principal: Principal, proof: StepUpProof, caller: Caller) {
  const methods = { ...(await readStepUpMethods(ctx, principal)), isFresh: false };
  requireProof(methods, proof, false);
  const amr = await checkProof(ctx, principal.account.id, methods, proof, caller);
  return ctx.db.$transaction(async (tx) => {
    const now = ctx.now();
    const renewed = await renewSession(tx, now, principal, methods.aal, amr, caller);
    await recordSecurityEvent(tx, now, principal.account.id, "reauthenticated", caller, { details: { amr } });
    return renewed;
  });
}

/** What proves who signs in, besides the password. */
type FactorField = Exclude<keyof StepUpProof, "password">;

/**
 * How an account can authenticate again, and whether its session is recent enough without it. `aal` is 2 if the account
 * has a second factor. `factorFields` are those that the account has, of which each is a proof at its level.
 */
export type StepUpMethods = { aal: Aal; isFresh: boolean; passwordHash: string | null; factorFields: FactorField[] };

const FIELDS = { totp: "code", recovery_code: "recoveryCode", passkey: "passkey" } as const;

/** Reads how a signed-in account can authenticate again. */
export async function readStepUpMethods(
  { db, now }: Pick<Context, "now"> & { db: Tx },
  { account, session }: { account: { id: string }; session: { authenticatedAt: Date; aal: number } },
  maxAgeSeconds = MAX_AUTHENTICATION_AGE_SECONDS,
): Promise<StepUpMethods> {
  const select = { passwordHash: true, passkeys: { select: { id: true }, take: 1 } };
  const { passwordHash, passkeys } = await db.account.findUniqueOrThrow({ where: { id: account.id }, select });
  const secondFactors = await listSecondFactors(db, account.id);
  const aal: Aal = secondFactors.length > 0 ? 2 : 1;
  const factorFields = secondFactors.map((kind): FactorField => FIELDS[kind]);
  if (passkeys.length > 0 && !factorFields.includes("passkey")) factorFields.push("passkey");
  return { aal, isFresh: isFresh(session, { aal, maxAgeSeconds, now: now() }), passwordHash, factorFields };
}

/** @throws AppError reauthentication_required if a proof is missing */
function requireProof(methods: StepUpMethods, proof: StepUpProof, isPasswordRequired: boolean): void {
  const { aal, isFresh, passwordHash, factorFields } = methods;
  const isPasswordNeeded = isPasswordRequired && passwordHash !== null;
  const fields = [...(aal === 1 && passwordHash !== null ? ["password" as const] : []), ...factorFields];
  const isProved = isFresh || fields.some((field) => proof[field] !== undefined);
  const missing = [
    ...(isPasswordNeeded && proof.password === undefined ? ["password"] : []),
    ...(isProved ? [] : fields),
  ];
  if (isProved && missing.length === 0) return;
  const errors = [...new Set(missing)].map((field) => ({
    pointer: `/${field}`,
    code: "required",
    detail: "Is required",
  }));
  throw new AppError("reauthentication_required", errors.length > 0 ? { errors } : {});
}

/** Checks the fields that are given and that the account has. Returns how they authenticate the user. */
async function checkProof(
  ctx: Deps,
  id: string,
  { passwordHash, factorFields }: StepUpMethods,
  { password, code, recoveryCode, passkey }: StepUpProof,
  caller: Caller,
): Promise<Amr[]> {
  const amr: Amr[] = [];
  if (password !== undefined && passwordHash !== null) {
    await confirmPassword(ctx, { id, passwordHash }, password, caller);
    amr.push("pwd");
  }
  if (code !== undefined && factorFields.includes("code")) {
    const verified = verifySecondFactor(ctx, id, { code }, "session", caller);
    amr.push(...(await verified.catch((error) => refuse(error, "code"))));
  } else if (recoveryCode !== undefined && factorFields.includes("recoveryCode")) {
    const verified = verifySecondFactor(ctx, id, { recoveryCode }, "session", caller);
    amr.push(...(await verified.catch((error) => refuse(error, "recoveryCode"))));
  } else if (passkey !== undefined) {
    const purpose = { accountId: id, purpose: "step-up" } as const;
    amr.push(...(await verifyPasskeyAssertion(ctx, passkey, purpose, caller)).amr);
  }
  return amr;
}

/** Names the field of a wrong code, as that of a wrong password. */
function refuse(error: unknown, field: FactorField): never {
  if (!isAppError(error) || error.code !== "invalid_code") throw error;
  const errors = [{ pointer: `/${field}`, code: "incorrect", detail: "This code is wrong, used or expired" }];
  throw new AppError("reauthentication_required", { errors, cause: error });
}

/**
 * Whether methods authenticate a user at the account's level: a password alone does not renew what two factors proved.
 */
function isSufficient({ aal }: StepUpMethods, amr: readonly Amr[]): boolean {
  return aal === 1 ? amr.length > 0 : amr.some((method) => method !== "pwd");
}

/** Makes the session's authentication recent. @throws AppError unauthenticated if the session has ended since */
async function renewSession(tx: Tx, now: Date, { session }: Principal, aal: Aal, amr: readonly Amr[], caller: Caller) {
  const isTwoFactors = aal === 2 || amr.includes("mfa");
  const renewed = isTwoFactors
    ? withSecondFactor(session, amr, now)
    : { authenticatedAt: now, aal: session.aal, amr: [...new Set([...session.amr, ...amr])] };
  const where = { id: session.id, revokedAt: null };
  const { count } = await tx.session.updateMany({ where, data: { ...renewed, authenticatedFrom: placeOf(caller) } });
  if (count === 0) throw new AppError("unauthenticated");
  return renewed;
}
