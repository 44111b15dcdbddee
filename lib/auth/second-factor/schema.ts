import { z } from "zod";
import { Passkey, PasskeyAssertion, PasskeyAssertionField } from "../passkeys/schema";
import { RECOVERY_CODE_COUNT } from "./recovery-codes";

/** A code of an authenticator app. People type it with a space in the middle. */
export const TotpCode = z
  .string()
  .max(32)
  .transform((typed) => typed.replace(/\s/g, ""))
  .pipe(z.string().regex(/^\d{6}$/, "Must be six digits"))
  .meta({ description: "The code that the authenticator app shows.", examples: ["492039"] });

export const RecoveryCode = z
  .string()
  .max(64)
  .meta({ description: "One of the recovery codes.", examples: ["7K3M9Q-WX2B4N-0R5T8V-C1D6FG"] });

const proofs = {
  code: TotpCode.optional(),
  recoveryCode: RecoveryCode.optional(),
  passkey: PasskeyAssertion.optional().describe(
    "An assertion over the options of `POST /api/auth/passkeys/second-factor/options`.",
  ),
};
const challenge = z
  .string()
  .max(256)
  .optional()
  .describe("The `challenge` of the sign-in. By default the browser's, which is in a cookie.");

/** The sign-in whose second factor is a passkey. */
export const SecondFactorOptions = z.object({ challenge });

/** One second factor, and the challenge of the sign-in that it completes. */
export const SecondFactor = z
  .object({ challenge, ...proofs })
  .refine((given) => Object.keys(proofs).filter((name) => name in given).length === 1, {
    path: ["code"],
    message: "Send exactly one of code, recoveryCode and passkey",
  });

/** A second factor as a person types it into a page. */
export const TypedFactor = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("totp"), code: TotpCode }),
  z.object({ kind: z.literal("recovery_code"), code: RecoveryCode }),
  z.object({ kind: z.literal("passkey"), passkey: PasskeyAssertionField }),
]);

/** The same as the API's sign-in has it. */
export function toProof(typed: z.infer<typeof TypedFactor>) {
  if (typed.kind === "passkey") return { passkey: typed.passkey };
  return typed.kind === "recovery_code" ? { recoveryCode: typed.code } : { code: typed.code };
}

/** A new authenticator app. Its secret is shown this once. */
export const TotpEnrollment = z.object({
  id: z.uuid(),
  secret: z.string().describe("The key in base32, for people who cannot scan the QR code."),
  uri: z.string().describe("The key URI (`otpauth://totp/…`), which an authenticator app can open."),
  qrCode: z.string().describe("The key URI as a QR code: an SVG document."),
  expiresAt: z.date(),
});

export const ConfirmTotp = z.object({ id: z.uuid(), code: TotpCode });

const RecoveryCodeList = z
  .array(z.string())
  .length(RECOVERY_CODE_COUNT)
  .describe("Each replaces a code of the authenticator app, once. They are shown only once.");

export const TotpConfirmed = z.object({ createdAt: z.date(), recoveryCodes: RecoveryCodeList });
export const NewRecoveryCodes = z.object({ recoveryCodes: RecoveryCodeList });

export const Factors = z.object({
  totp: z
    .object({ id: z.uuid(), createdAt: z.date(), lastUsedAt: z.date().nullable() })
    .nullable()
    .describe("The authenticator app. With one, each sign-in needs a second factor."),
  recoveryCodes: z.object({ remaining: z.int().describe("How many still work."), createdAt: z.date() }).nullable(),
  passkeys: z.array(Passkey).describe("The oldest first. With an authenticator app, they are second factors, too."),
});
