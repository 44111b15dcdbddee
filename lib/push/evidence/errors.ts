import { AppError } from "../../errors";

/** Why evidence is invalid: the `reason` for programs, with its `detail` for people. */
export const EVIDENCE_REASONS = {
  challenge_unknown: "No open challenge with this ID exists for this device, token, bundle ID and environment.",
  push_nonce_mismatch: "The nonce is not the one that was sent through APNs.",
  device_key_refused: "Production devices must use App Attest.",
  malformed: "The attestation or assertion is malformed.",
  certificate_untrusted: "The certificate chain does not end at Apple's App Attestation root.",
  certificate_expired: "A certificate has expired or is not yet valid.",
  nonce_mismatch: "The attestation is for other client data.",
  key_id_mismatch: "The key ID is not the hash of the attested key.",
  app_id_mismatch: "The key belongs to another app.",
  counter_not_zero: "The key was used before it was attested.",
  environment_mismatch: "The key was attested in the other environment.",
  credential_id_mismatch: "The credential ID is not the key ID.",
  mac_unprotected: "The Mac's key does not require full security and system integrity protection.",
  key_unknown: "The key is not known for this device. Attest a new key.",
  signature_invalid: "The signature was made with another key or for other client data.",
  counter_replayed: "The assertion's counter has not increased.",
  subscription_mismatch: "Another account has this endpoint with other keys. Subscribe again.",
} as const;

export type EvidenceReason = keyof typeof EVIDENCE_REASONS;

/** The error for invalid evidence, with its `reason`. */
export function evidenceInvalid(reason: EvidenceReason): AppError {
  return new AppError("evidence_invalid", { detail: EVIDENCE_REASONS[reason], fields: { reason } });
}
