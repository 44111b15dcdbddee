import { AppError } from "../../errors";

/** Why a passkey was refused: the `reason` for programs, with its `detail` for people. */
const PASSKEY_REASONS = {
  malformed: "The passkey's response is malformed.",
  challenge_invalid: "The challenge is unknown, used or expired, or was issued for something else. Request a new one.",
  type_mismatch: "The response has the wrong type: a registration instead of an assertion, or vice versa.",
  origin_not_allowed: "The response was made for another origin.",
  rp_id_mismatch: "The response was made for another relying party ID.",
  user_not_verified: "The device did not verify the user, for example by a fingerprint or a PIN.",
  credential_unknown: "The passkey is not known to this account.",
  user_handle_mismatch: "The passkey was created for another account.",
  backup_eligibility_changed: "The passkey's backup eligibility has changed since it was added.",
  signature_invalid: "The signature does not match the passkey's public key.",
  counter_replayed: "The passkey's counter has not increased: the passkey may have been copied.",
} as const;

export type PasskeyReason = keyof typeof PASSKEY_REASONS;

/** The error for a refused passkey, with its `reason`. */
export function passkeyInvalid(reason: PasskeyReason, cause?: unknown): AppError {
  return new AppError("passkey_invalid", { detail: PASSKEY_REASONS[reason], fields: { reason }, cause });
}
