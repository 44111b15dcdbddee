import { requireEnabled } from "../../auth/account-checks";
import { requireVerifiedEmail } from "../../auth/email-verification";
import { CREDENTIALS, RECOVERY_CODES, SIGNED_IN, TRANSPORT } from "../../auth/examples";
import {
  ASSERTION,
  CREATION_OPTIONS,
  PASSKEY,
  REGISTRATION,
  SIGN_IN_OPTIONS,
  STEP_UP_OPTIONS,
} from "../../auth/passkeys/examples";
import {
  createAccountOptions,
  createRegistrationOptions,
  createSignInOptions,
  RequestPasskey,
} from "../../auth/passkeys/options";
import { registerPasskey } from "../../auth/passkeys/register-passkey";
import {
  Passkey,
  PasskeyCreationOptions,
  PasskeyParams,
  PasskeyRequestOptions,
  Passkeys,
  RegisterPasskey,
  RenamePasskey,
} from "../../auth/passkeys/schema";
import { listPasskeys } from "../../auth/passkeys/stored-passkeys";
import { verifyPasskeyAssertion } from "../../auth/passkeys/verify-assertion";
import { findChallenge, readChallengeCookie } from "../../auth/second-factor/challenges";
import { confirmTotp, removeTotp, renewRecoveryCodes, startTotp } from "../../auth/second-factor/change-factors";
import { readFactors } from "../../auth/second-factor/factors";
import {
  ConfirmTotp,
  Factors,
  NewRecoveryCodes,
  SecondFactorOptions,
  TotpConfirmed,
  TotpEnrollment,
} from "../../auth/second-factor/schema";
import { issueSession } from "../../auth/sessions/issue-session";
import { chooseTransport, sessionResponse } from "../../auth/sessions/session-response";
import type { Transport } from "../../auth/sessions/sessions";
import { STEP_UP_ERRORS, StepUpProof } from "../../auth/step-up";
import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import type { Caller } from "../../principal";
import { createInvitationOptions } from "../invitations";
import { Auth, ConfirmReset, PasskeyLogin, toUser } from "../schema";
import { removePasskey, renamePasskey } from "./passkeys";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "limits" | "emails" | "now" | "removeDevices">;

const STEP_UP = { session: true, body: StepUpProof, isBodyOptional: true } as const;
const REQUIRES_STEP_UP =
  "Requires a sign-in within the last ten minutes, with the second factor if there is one, or a proof in the body.";

export const factorOperations = {
  listFactors: operation({
    id: "listFactors",
    summary: "List the account's factors",
    description: "With an authenticator app, each sign-in needs a second factor.",
    session: true,
    response: {
      description: "The factors. `null`: the account does not have this one.",
      schema: Factors,
      examples: {
        "With an authenticator app": {
          totp: {
            id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
            createdAt: "2026-11-20T09:00:00.000Z",
            lastUsedAt: "2026-11-21T18:30:00.000Z",
          },
          recoveryCodes: { remaining: 9, createdAt: "2026-11-20T09:00:00.000Z" },
          passkeys: [PASSKEY],
        },
        "Without a second factor": { totp: null, recoveryCodes: null, passkeys: [] },
      },
    },
    run: ({ ctx, principal }) => readFactors(ctx, principal.account.id),
  }),

  renewRecoveryCodes: operation({
    id: "renewRecoveryCodes",
    summary: "Replace the recovery codes",
    description:
      "Requires a sign-in with a second factor within the last ten minutes, or a proof in the body. The old codes stop working. Emails the owner.",
    ...STEP_UP,
    errors: ["no_second_factor", ...STEP_UP_ERRORS],
    examples: { "After a recent sign-in": {}, "With a proof": { password: CREDENTIALS.password, code: "492039" } },
    response: {
      description: "The new codes, which are shown this once.",
      schema: NewRecoveryCodes,
      examples: { "Ten codes": { recoveryCodes: RECOVERY_CODES } },
    },
    run: async ({ ctx, principal, body, caller }) => ({
      recoveryCodes: await renewRecoveryCodes(ctx, principal, body, caller),
    }),
  }),

  startTotp: operation({
    id: "startTotp",
    summary: "Start to add an authenticator app",
    description: `${REQUIRES_STEP_UP} The secret has no effect until its first code is confirmed, within ten minutes.`,
    ...STEP_UP,
    errors: ["factor_exists", ...STEP_UP_ERRORS],
    examples: { "After a recent sign-in": {}, "With a password": { password: CREDENTIALS.password } },
    response: {
      status: 201,
      description: "The secret, to be shown to its user only.",
      schema: TotpEnrollment,
      examples: {
        "A secret": {
          id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10",
          secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
          uri: "otpauth://totp/app.example.com:ann%40example.com?issuer=app.example.com&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30",
          qrCode: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 57 57">…</svg>',
          expiresAt: "2026-11-20T09:10:00.000Z",
        },
      },
    },
    run: ({ ctx, principal, body, caller }) => startTotp(ctx, principal, body, caller),
  }),

  removeTotp: operation({
    id: "removeTotp",
    summary: "Remove the authenticator app",
    description: `${REQUIRES_STEP_UP} The recovery codes stop working, too. Emails the owner.`,
    ...STEP_UP,
    errors: ["not_found", ...STEP_UP_ERRORS],
    examples: { "After a recent sign-in": {}, "With a code": { code: "492039" } },
    response: { description: "Sign-ins no longer need a second factor.", schema: null },
    run: ({ ctx, principal, body, caller }) => removeTotp(ctx, principal, body, caller),
  }),

  confirmTotp: operation({
    id: "confirmTotp",
    summary: "Confirm an authenticator app by its first code",
    description:
      "Only the session that started the enrollment can confirm it. It then counts as signed in with two factors. Emails the owner.",
    session: true,
    body: ConfirmTotp,
    errors: ["invalid_code", "enrollment_expired", "factor_exists"],
    examples: { "The code that the app shows": { id: "0198d2f4-3c1e-7c1a-9b7e-5d2f8a6b4c10", code: "492039" } },
    response: {
      description: "From now on, each sign-in needs a second factor. The recovery codes are shown this once.",
      schema: TotpConfirmed,
      examples: { "The recovery codes": { createdAt: "2026-11-20T09:02:00.000Z", recoveryCodes: RECOVERY_CODES } },
    },
    run: ({ ctx, principal, body, caller }) => confirmTotp(ctx, principal, body, caller),
  }),
};

const requestOptions = (example: object) => {
  return { description: "The options.", schema: PasskeyRequestOptions, examples: { "The options": example } };
};

export const passkeyOperations = {
  listPasskeys: operation({
    id: "listPasskeys",
    summary: "List the account's passkeys",
    description: "Lists passkeys, oldest first.",
    session: true,
    response: {
      description: "The account's passkeys.",
      schema: Passkeys,
      examples: { "One passkey": { passkeys: [PASSKEY] }, "No passkeys": { passkeys: [] } },
    },
    run: async ({ ctx, principal }) => ({ passkeys: await listPasskeys(ctx.db, principal.account.id) }),
  }),

  addPasskey: operation({
    id: "addPasskey",
    summary: "Add a passkey",
    description:
      "Adds the passkey that the browser or the system has created from the options of `POST /api/auth/passkeys/options`. Attestation is neither required nor checked. The owner gets an email.",
    session: true,
    body: RegisterPasskey,
    errors: ["passkey_invalid", "passkey_registered", "passkey_limit_reached"],
    examples: { "A passkey with a name": { passkey: REGISTRATION, name: "Ann's iPhone" } },
    response: {
      status: 201,
      description: "The passkey was added.",
      schema: Passkey,
      examples: { "The passkey": PASSKEY },
    },
    run: ({ ctx, principal, body, caller }) => registerPasskey(ctx, principal, body, caller),
  }),

  renamePasskey: operation({
    id: "renamePasskey",
    summary: "Rename a passkey",
    description: "Renames a passkey of the caller. The passkey of another account returns 404, as an unknown one does.",
    session: true,
    params: PasskeyParams,
    body: RenamePasskey,
    errors: ["not_found"],
    examples: { "A name": { name: "Ann's iPhone" } },
    response: { description: "The passkey was renamed.", schema: Passkey, examples: { "The passkey": PASSKEY } },
    run: ({ ctx, principal, params, body }) => renamePasskey(ctx.db, principal.account.id, params.passkeyId, body.name),
  }),

  removePasskey: operation({
    id: "removePasskey",
    summary: "Remove a passkey",
    description:
      "Removes a passkey of the caller, and signs out the account's other sessions. Requires a recent sign-in. The account's only way to sign in cannot be removed. The owner gets an email. Afterwards, `PublicKeyCredential.signalAllAcceptedCredentials` removes the passkey from the device.",
    session: true,
    params: PasskeyParams,
    errors: ["not_found", "last_sign_in_method", "reauthentication_required"],
    response: { description: "The passkey was removed.", schema: null },
    run: ({ ctx, principal, params, caller }) => removePasskey(ctx, principal, params.passkeyId, caller),
  }),

  createPasskeyOptions: operation({
    id: "createPasskeyOptions",
    summary: "Start to add a passkey",
    description:
      "Returns the options for `navigator.credentials.create` (Web Authentication Level 3, `PublicKeyCredentialCreationOptionsJSON`). Requires a recent sign-in, or a proof in the body.",
    ...STEP_UP,
    body: RequestPasskey,
    limit: "passkeyOptionsByAccount",
    errors: STEP_UP_ERRORS,
    examples: {
      "After a recent sign-in": {},
      "With the password": { password: "correct horse battery staple" },
      "Without asking, after a sign-in with a password": { conditional: true },
    },
    response: {
      description: "The options.",
      schema: PasskeyCreationOptions,
      examples: { "The options": CREATION_OPTIONS },
    },
    run: ({ ctx, principal, body, caller }) => createRegistrationOptions(ctx, principal, body, caller),
  }),

  createPasskeyInvitationOptions: operation({
    id: "createPasskeyInvitationOptions",
    summary: "Start to accept an invitation with a passkey",
    description:
      "Returns the options for `navigator.credentials.create`. `POST /api/auth/invitation` takes the passkey. The token is not used up.",
    body: ConfirmReset.pick({ token: true }),
    limit: "passkeyOptionsByIp",
    errors: ["invalid_or_expired_token"],
    examples: { "The link's token": { token: "q0Zb6c1mSx3uY8rT2wVhKfDgLpN4aEoJ" } },
    response: {
      description: "The options.",
      schema: PasskeyCreationOptions,
      examples: { "The options": CREATION_OPTIONS },
    },
    run: ({ ctx, body, caller }) => createInvitationOptions(ctx, body.token, caller),
  }),

  createPasskeySecondFactorOptions: operation({
    id: "createPasskeySecondFactorOptions",
    summary: "Start to complete a login with a passkey",
    description:
      "Returns the options for an assertion by one of the account's passkeys, to complete a sign-in that responded `second_factor_required`. The challenge of the sign-in stays open. An account without a passkey returns 404.",
    body: SecondFactorOptions,
    limit: "passkeyOptionsByIp",
    errors: ["invalid_challenge", "not_found"],
    examples: {
      "An app": { challenge: "0dXJpc3RzIG9mIHRoZSB3b3JsZCwgdW5pdGUgbm93IQ" },
      "A browser, which has the challenge in a cookie": {},
    },
    response: requestOptions({ ...STEP_UP_OPTIONS, userVerification: "preferred" }),
    run: async ({ ctx, request, body, caller }) => {
      const token = body.challenge ?? readChallengeCookie(ctx.config, request.headers);
      return createAccountOptions(ctx, "second-factor", (await findChallenge(ctx, token, caller)).id);
    },
  }),

  signInWithPasskey: operation({
    id: "signInWithPasskey",
    summary: "Sign in with a passkey",
    description: `Signs in with an assertion over the options of \`POST /api/auth/passkeys/sign-in/options\`. The passkey names its account. It counts as two factors. ${TRANSPORT}`,
    isInPerson: true,
    body: PasskeyLogin,
    limit: "passkeyByIp",
    errors: ["passkey_invalid", "invalid_credentials", "account_disabled", "email_not_verified", "origin_not_allowed"],
    examples: {
      "A native app": { passkey: ASSERTION, transport: "token", deviceName: "Ann's iPhone" },
      "A web app": { passkey: ASSERTION },
    },
    response: { description: "Signed in.", schema: Auth, headers: ["Set-Cookie"], examples: SIGNED_IN },
    run: async ({ ctx, request, body, caller }) => {
      const transport = chooseTransport(request, body.transport, ctx);
      return sessionResponse(200, await signInWithPasskey(ctx, body, transport, caller), request, ctx);
    },
  }),

  createPasskeySignInOptions: operation({
    id: "createPasskeySignInOptions",
    summary: "Start a sign-in with a passkey",
    description:
      "Returns the options for `navigator.credentials.get` (Web Authentication Level 3, `PublicKeyCredentialRequestOptionsJSON`), with or without conditional mediation. Any passkey of this service can respond.",
    limit: "passkeyOptionsByIp",
    response: requestOptions(SIGN_IN_OPTIONS),
    run: ({ ctx }) => createSignInOptions(ctx),
  }),

  createPasskeyStepUpOptions: operation({
    id: "createPasskeyStepUpOptions",
    summary: "Start a step-up by a passkey",
    description:
      "Returns the options for an assertion by one of the caller's passkeys, as the proof of a recent authentication. An account without a passkey returns 404.",
    session: true,
    limit: "passkeyOptionsByAccount",
    errors: ["not_found"],
    response: requestOptions(STEP_UP_OPTIONS),
    run: ({ ctx, principal }) => createAccountOptions(ctx, "step-up", principal.account.id),
  }),
};

/**
 * Signs in with a passkey, which says whose account it is. The passkey verifies its user, so it is two factors: the
 * sign-in needs no other. The route has counted the attempt, which is returned after a success.
 * @throws AppError passkey_invalid, account_disabled, email_not_verified; invalid_credentials if the account was deleted, its
 *   password reset or the passkey removed, since
 */
async function signInWithPasskey(
  ctx: Deps,
  { passkey, deviceName }: Pick<PasskeyLogin, "passkey" | "deviceName">,
  transport: Transport,
  caller: Caller,
) {
  const { passkeyId, accountId, amr } = await verifyPasskeyAssertion(ctx, passkey, { purpose: "sign-in" }, caller);
  await ctx.limits.refund("passkeyByIp", caller.ip);
  const account = await ctx.db.account.findUnique({ where: { id: accountId } });
  if (!account) throw new AppError("invalid_credentials");
  requireEnabled(account);
  await requireVerifiedEmail(ctx, account, caller);
  const options = { transport, deviceName: deviceName ?? null, authentication: { aal: 2, amr } } as const;
  const precondition = async (tx: Tx) => {
    const passkey = await tx.passkey.findUnique({ where: { id: passkeyId }, select: { id: true } });
    if (!passkey) throw new AppError("invalid_credentials");
  };
  const { session, token } = await issueSession(ctx, { ...account, precondition }, options, caller);
  return { user: toUser(account), session, token, deviceId: caller.deviceId };
}
