import { createHash, verify, X509Certificate } from "node:crypto";
import type { PushChallenge, PushDevice } from "../../db/generated/client";
import { AppError } from "../../errors";
import { verifyAssertion, verifyAttestation } from "./app-attest";
import { buildClientData } from "./client-data";
import { evidenceInvalid } from "./errors";
import { keyFromPoint, keyIdOf } from "./p256";
import type { AppAttestEvidence, DeviceKeyEvidence, Evidence } from "./schema";

/** What evidence is held against. A key with a counter is App Attest's, one without is a device key. */
export type EvidenceContext = {
  challenge: Pick<PushChallenge, "id" | "value" | "nonceHash">;
  device: Pick<PushDevice, "accountId" | "environment" | "bundleId" | "token" | "keyId" | "publicKey" | "keyCounter">;
  /** Apple's name for the developer; without it App Attest cannot be checked. */
  teamId: string | undefined;
  /** The root that attestations lead to, in PEM. */
  root: string;
  now: Date;
};

/** The key that answered: what the device's row keeps of it. */
export type VerifiedKey = { keyId: string; publicKey: Uint8Array<ArrayBuffer>; keyCounter: bigint | null };

/**
 * Decides whether evidence answers a challenge: the nonce shows that pushes reach the device, the signature that
 * the app on it answers, and for whom. Touches nothing.
 * @throws AppError evidence_invalid with `reason`; push_not_configured without a team id for App Attest
 */
export function verifyEvidence(evidence: Evidence, claim: EvidenceContext): VerifiedKey {
  const { challenge, device } = claim;
  if (createHash("sha256").update(evidence.pushNonce).digest("hex") !== challenge.nonceHash) {
    throw evidenceInvalid("push_nonce_mismatch");
  }
  const { environment, bundleId, token, accountId } = device;
  const clientData = buildClientData({
    ...{ challengeId: challenge.id, challengeValue: challenge.value, pushNonce: evidence.pushNonce },
    ...{ environment, bundleId, token, accountId },
  });
  return evidence.type === "device_key"
    ? verifyDeviceKey(evidence, claim, clientData)
    : verifyAppAttest(evidence, claim, clientData);
}

function verifyAppAttest(
  { keyId: id, attestation, assertion }: AppAttestEvidence,
  { device, teamId, root, now }: EvidenceContext,
  clientData: Buffer,
): VerifiedKey {
  if (!teamId) throw new AppError("push_not_configured", { detail: "The service has no APNS_TEAM_ID." });
  const clientDataHash = createHash("sha256").update(clientData).digest();
  const appId = `${teamId}.${device.bundleId}`;
  const keyId = Buffer.from(id, "base64");
  if (attestation !== undefined) {
    const given = {
      clientDataHash,
      appId,
      keyId,
      environment: device.environment,
      root: new X509Certificate(root),
      now,
    };
    const publicKey = verifyAttestation(Buffer.from(attestation, "base64"), given);
    return { keyId: keyId.toString("base64"), publicKey: new Uint8Array(publicKey), keyCounter: 0n };
  }
  const { publicKey, keyCounter: counter } = device;
  if (!publicKey || counter === null || keyId.toString("base64") !== device.keyId) throw evidenceInvalid("key_unknown");
  const given = { clientDataHash, appId, publicKey, counter };
  const keyCounter = verifyAssertion(Buffer.from(assertion ?? "", "base64"), given);
  return { keyId: device.keyId, publicKey, keyCounter };
}

/** Anybody can make such a key: it is taken at its word once, and has to be the same from then on. */
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
