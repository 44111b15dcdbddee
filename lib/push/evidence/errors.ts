import { AppError } from "../../errors";

/** Why evidence does not hold: the `reason` that programs switch on, with the words for people. */
export const EVIDENCE_REASONS = {
  challenge_unknown: "No such challenge is open for this device, token, bundle and environment.",
  push_nonce_mismatch: "That is not the nonce that went out through APNs.",
  device_key_refused: "A production device proves itself with App Attest.",
  malformed: "The attestation or assertion is not what App Attest makes.",
  certificate_untrusted: "The certificates do not lead to Apple's App Attestation root.",
  certificate_expired: "A certificate is not valid at this time.",
  nonce_mismatch: "The attestation was made for other client data.",
  key_id_mismatch: "The key id is not the hash of the attested key.",
  app_id_mismatch: "The key belongs to another app.",
  counter_not_zero: "The key has been used before it was attested.",
  environment_mismatch: "The key was attested in the other environment.",
  credential_id_mismatch: "The credential id is not the key id.",
  key_unknown: "The device is not known by this key: attest a new one.",
  signature_invalid: "The signature is not the key's, or was made for other client data.",
  counter_replayed: "The assertion's counter does not rise.",
} as const;

export type EvidenceReason = keyof typeof EVIDENCE_REASONS;

/** The error for evidence that does not hold: 422 with `reason`. */
export function evidenceInvalid(reason: EvidenceReason): AppError {
  return new AppError("evidence_invalid", { detail: EVIDENCE_REASONS[reason], members: { reason } });
}
