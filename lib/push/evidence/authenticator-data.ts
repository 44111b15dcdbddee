import { evidenceInvalid } from "./errors";

/** Offsets of WebAuthn's authenticator data (Web Authentication, section 6.1). */
const COUNTER_AT = 33;
const AAGUID_AT = 37;
const CREDENTIAL_ID_LENGTH_AT = 53;
const CREDENTIAL_ID_AT = 55;

type AuthenticatorData = { rpIdHash: Uint8Array; counter: number };
type AttestedData = AuthenticatorData & { aaguid: Uint8Array; credentialId: Uint8Array };

/** Reads an assertion's authenticator data; extensions may follow. @throws AppError evidence_invalid: malformed */
export function readAuthenticatorData(bytes: Uint8Array): AuthenticatorData {
  if (bytes.length < AAGUID_AT) throw evidenceInvalid("malformed");
  return { rpIdHash: bytes.subarray(0, 32), counter: viewOf(bytes).getUint32(COUNTER_AT) };
}

/** Reads an attestation's authenticator data, with the attested credential. @throws AppError evidence_invalid: malformed */
export function readAttestedData(bytes: Uint8Array): AttestedData {
  if (bytes.length < CREDENTIAL_ID_AT) throw evidenceInvalid("malformed");
  const end = CREDENTIAL_ID_AT + viewOf(bytes).getUint16(CREDENTIAL_ID_LENGTH_AT);
  if (bytes.length < end) throw evidenceInvalid("malformed");
  return {
    ...readAuthenticatorData(bytes),
    aaguid: bytes.subarray(AAGUID_AT, CREDENTIAL_ID_LENGTH_AT),
    credentialId: bytes.subarray(CREDENTIAL_ID_AT, end),
  };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
