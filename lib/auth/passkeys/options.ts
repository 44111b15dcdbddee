import type { z } from "zod";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import type { Caller, Principal } from "../../principal";
import { requireStepUp, StepUpProof } from "../step-up";
import {
  CHALLENGE_TTL_MS,
  isConditional,
  issueChallenge,
  type PasskeyPurpose,
  type RegistrationPurpose,
  registrationPurpose,
  relyingPartyId,
  userHandleOf,
} from "./ceremony";
import { conditional, type PasskeyCreationOptions, type PasskeyRequestOptions } from "./schema";

type Deps = Pick<Context, "config" | "db" | "now">;

export const RequestPasskey = StepUpProof.extend({ conditional });

/** ES256 and RS256 (RFC 9053 and RFC 8812), one of which every authenticator has. */
export const ALGORITHMS = [-7, -257];

/**
 * The options of a new passkey, after a step-up: a stolen session alone cannot add one. The passkey is discoverable, so
 * that it signs in without an email. No attestation is asked for. A conditional one is created without a gesture.
 * @throws AppError reauthentication_required, rate_limited, overloaded
 */
export async function createRegistrationOptions(
  ctx: Deps & Pick<Context, "hasher" | "limits">,
  principal: Principal,
  { conditional: isWithoutGesture, ...proof }: z.infer<typeof RequestPasskey>,
  caller: Caller,
): Promise<PasskeyCreationOptions> {
  await requireStepUp(ctx, principal, proof, caller);
  return createOptionsFor(ctx, registrationPurpose(isWithoutGesture), principal.account);
}

/** The options of a new passkey of an account whose owner is authenticated. */
export async function createOptionsFor(
  ctx: Deps,
  purpose: RegistrationPurpose,
  { id: accountId, email, name }: { id: string; email: string; name: string | null },
): Promise<PasskeyCreationOptions> {
  return {
    challenge: await issueChallenge(ctx, { purpose, accountId }),
    rp: { id: relyingPartyId(ctx.config), name: ctx.config.BRAND_NAME },
    user: { id: userHandleOf(accountId), name: email, displayName: name ?? email },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
    timeout: CHALLENGE_TTL_MS,
    attestation: "none",
    excludeCredentials: await listDescriptors(ctx.db, accountId),
    authenticatorSelection: {
      residentKey: "required",
      requireResidentKey: true,
      userVerification: isConditional(purpose) ? "preferred" : "required",
    },
  };
}

/** The options of a sign-in: any passkey of this service may respond. */
export function createSignInOptions(ctx: Deps): Promise<PasskeyRequestOptions> {
  return requestOptions(ctx, { purpose: "sign-in", accountId: null }, []);
}

/** The options of a step-up or a second factor by a passkey. @throws AppError not_found if the account has none */
export async function createAccountOptions(ctx: Deps, purpose: "second-factor" | "step-up", accountId: string) {
  const descriptors = await listDescriptors(ctx.db, accountId);
  if (descriptors.length === 0) throw new AppError("not_found");
  return requestOptions(ctx, { purpose, accountId }, descriptors);
}

type Descriptors = PasskeyRequestOptions["allowCredentials"];

/** After a password, possession of the passkey is enough; alone, it has to verify the user. */
async function requestOptions(
  ctx: Deps,
  binding: { purpose: PasskeyPurpose; accountId: string | null },
  allowCredentials: Descriptors,
): Promise<PasskeyRequestOptions> {
  return {
    challenge: await issueChallenge(ctx, binding),
    rpId: relyingPartyId(ctx.config),
    timeout: CHALLENGE_TTL_MS,
    allowCredentials,
    userVerification: binding.purpose === "second-factor" ? "preferred" : "required",
  };
}

async function listDescriptors(db: Tx, accountId: string): Promise<Descriptors> {
  const select = { credentialId: true, transports: true };
  const passkeys = await db.passkey.findMany({ where: { accountId }, select, orderBy: { id: "asc" } });
  return passkeys.map(({ credentialId: id, transports }) => ({ id, type: "public-key", transports }));
}
