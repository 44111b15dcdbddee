import { createHash, verify, X509Certificate } from "node:crypto";
import { AppError } from "../../errors";
import type { PushChallenge, PushDevice } from "../../platform/db/generated/client";
import { isSameSecret } from "../../platform/keys/same-secret";
import { evidenceInvalid } from "./errors";
import { keyFromPoint, keyIdOf } from "./p256";
import type { AppAttestEvidence, DeviceKeyEvidence, Evidence } from "./schema";

/** Apple App Attestation Root CA, valid until 2045 (Apple PKI, "Apple App Attestation Root CA"). */
export const APPLE_APP_ATTESTATION_ROOT = `\
-----BEGIN CERTIFICATE-----
MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
oyFraWVIyd/dganmrduC1bmTBGwD
-----END CERTIFICATE-----
`;

/** What evidence is verified against. An App Attest key has a counter, a device key has none. */
export type EvidenceContext = {
  challenge: Pick<PushChallenge, "id" | "value" | "nonceHash">;
  device: Pick<PushDevice, "accountId" | "environment" | "bundleId" | "token" | "keyId" | "publicKey" | "keyCounter">;
  /** The Apple developer team; App Attest evidence cannot be verified without it. */
  teamId: string | undefined;
  /** The root certificate of attestations, in PEM. */
  root: string;
  /** Whether a Mac's key may work without full security and system integrity protection. */
  allowsUnprotectedMacs: boolean;
  now: Date;
};

/** The key that signed, as the device's row stores it. */
export type VerifiedKey = { keyId: string; publicKey: Uint8Array<ArrayBuffer>; keyCounter: bigint | null };
/** `receipt`: that of its attestation, if it has just been attested. */
type Verified = { key: VerifiedKey; receipt?: Uint8Array<ArrayBuffer> };

/**
 * Verifies the evidence for a challenge: the nonce proves that notifications reach the device, and the signature that
 * the app on the device received it, for this account.
 * @throws AppError evidence_invalid with `reason`; push_not_configured for App Attest without a team ID
 */
export async function verifyEvidence(evidence: Evidence, claim: EvidenceContext): Promise<Verified> {
  const { challenge, device } = claim;
  if (!isSameSecret(createHash("sha256").update(evidence.pushNonce).digest("hex"), challenge.nonceHash)) {
    throw evidenceInvalid("push_nonce_mismatch");
  }
  const asked = { challengeId: challenge.id, challengeValue: challenge.value, pushNonce: evidence.pushNonce };
  const clientData = buildClientData({ ...device, ...asked });
  return evidence.type === "device_key"
    ? { key: verifyDeviceKey(evidence, claim, clientData) }
    : verifyAppAttest(evidence, claim, clientData);
}

async function verifyAppAttest(
  { keyId: id, attestation, assertion }: AppAttestEvidence,
  { device, teamId, root, allowsUnprotectedMacs, now }: EvidenceContext,
  clientData: Buffer,
): Promise<Verified> {
  if (!teamId) throw new AppError("push_not_configured", { detail: "APNS_TEAM_ID is not set." });
  const { verifyAssertion, verifyAttestation } = await import("./app-attest"); // loads packages for CBOR and ASN.1
  const clientDataHash = createHash("sha256").update(clientData).digest();
  const appId = `${teamId}.${device.bundleId}`;
  const keyId = Buffer.from(id, "base64");
  if (attestation !== undefined) {
    const environment = device.environment === "sandbox" ? "sandbox" : "production";
    const common = { clientDataHash, appId, keyId, environment } as const;
    const given = { ...common, root: new X509Certificate(root), allowsUnprotectedMacs, now };
    const { point, receipt } = verifyAttestation(Buffer.from(attestation, "base64"), given);
    const key = { keyId: keyId.toString("base64"), publicKey: new Uint8Array(point), keyCounter: 0n };
    return { key, receipt: new Uint8Array(receipt) };
  }
  const { publicKey, keyCounter: counter } = device;
  if (!publicKey || counter === null || keyId.toString("base64") !== device.keyId) throw evidenceInvalid("key_unknown");
  const given = { clientDataHash, appId, publicKey, counter };
  const keyCounter = verifyAssertion(Buffer.from(assertion ?? "", "base64"), given);
  return { key: { keyId: device.keyId, publicKey, keyCounter } };
}

/** Nothing vouches for a device key, so the first one is trusted and pinned. */
function verifyDeviceKey(
  { publicKey: point, signature }: DeviceKeyEvidence,
  { device }: EvidenceContext,
  clientData: Buffer,
): VerifiedKey {
  if (device.environment === "production") throw evidenceInvalid("device_key_refused");
  const publicKey = new Uint8Array(Buffer.from(point, "base64"));
  const keyId = keyIdOf(publicKey).toString("base64");
  if (device.keyId !== null && device.keyId !== keyId) throw evidenceInvalid("key_unknown");
  const key = keyFromPoint(publicKey);
  if (!key || !verify("sha256", clientData, key, Buffer.from(signature, "base64"))) {
    throw evidenceInvalid("signature_invalid");
  }
  return { keyId, publicKey, keyCounter: null };
}

/** The values that a device signs in response to a challenge; the nonce as received through APNs. */
type ClientData = Record<
  "challengeId" | "challengeValue" | "pushNonce" | "environment" | "bundleId" | "token" | "accountId",
  string
>;

/** Returns the bytes whose SHA-256 is App Attest's clientDataHash: eight lines, separated by line feeds. */
export function buildClientData(data: ClientData): Buffer {
  const { challengeId, challengeValue, pushNonce, environment, bundleId, token, accountId } = data;
  const tokenHash = createHash("sha256").update(token).digest("hex");
  const asked = ["push-register.v1", challengeId, challengeValue, pushNonce];
  return Buffer.from([...asked, environment, bundleId, tokenHash, accountId].join("\n"));
}
