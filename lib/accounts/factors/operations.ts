import { CREDENTIALS, RECOVERY_CODES } from "../../auth/examples";
import { PASSKEY } from "../../auth/passkeys/examples";
import { confirmTotp, removeTotp, renewRecoveryCodes, startTotp } from "../../auth/second-factor/change-factors";
import { readFactors } from "../../auth/second-factor/factors";
import { ConfirmTotp, Factors, NewRecoveryCodes, TotpConfirmed, TotpEnrollment } from "../../auth/second-factor/schema";
import { StepUpProof } from "../../auth/step-up";
import { operation } from "../../operation";

const STEP_UP =
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
    session: true,
    body: StepUpProof,
    isBodyOptional: true,
    errors: ["no_second_factor", "reauthentication_required", "rate_limited", "overloaded"],
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
    description: `${STEP_UP} The secret has no effect until its first code is confirmed, within ten minutes.`,
    session: true,
    body: StepUpProof,
    isBodyOptional: true,
    errors: ["factor_exists", "reauthentication_required", "rate_limited", "overloaded"],
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
    description: `${STEP_UP} The recovery codes stop working, too. Emails the owner.`,
    session: true,
    body: StepUpProof,
    isBodyOptional: true,
    errors: ["not_found", "reauthentication_required", "rate_limited", "overloaded"],
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
