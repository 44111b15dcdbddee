import { createHash, sign, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  type AttestKey,
  authority,
  macExtensions,
  mintAssertion,
  mintAttestation,
  newAttestKey,
  TEAM_ID,
} from "@/dev/app-attest/app-attest";
import type { Evidence } from "@/lib/push/evidence/schema";
import {
  APPLE_APP_ATTESTATION_ROOT,
  buildClientData,
  type EvidenceContext,
  verifyEvidence,
} from "@/lib/push/evidence/verify";

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data);
const challenge = { id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b21", value: "the challenge", nonceHash: "" };
const pushNonce = "the nonce that came through APNs";
const key = newAttestKey();

/** A device of the sandbox whose account, app and token are known, without a key. */
const DEVICE: EvidenceContext["device"] = {
  accountId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b22",
  environment: "sandbox",
  bundleId: "com.example.homeport",
  token: "the device token",
  keyId: null,
  publicKey: null,
  keyCounter: null,
};
type Device = Partial<typeof DEVICE>;
const KNOWN: Device = { keyId: key.keyId.toString("base64"), publicKey: new Uint8Array(key.point), keyCounter: 4n };

const contextOf = (device: Device, change: Partial<EvidenceContext> = {}): EvidenceContext => ({
  challenge: { ...challenge, nonceHash: sha256(pushNonce).digest("hex") },
  device: { ...DEVICE, ...device },
  teamId: TEAM_ID,
  root: authority.rootPem,
  allowsUnprotectedMacs: false,
  now: new Date(),
  ...change,
});
/** The bytes that a device signs for its account, app and token. */
const clientData = (device: Device = {}) =>
  buildClientData({ ...DEVICE, ...device, challengeId: challenge.id, challengeValue: challenge.value, pushNonce });
const partsOf = (device: Device = {}) => ({
  key,
  clientDataHash: sha256(clientData(device)).digest(),
  appId: `${TEAM_ID}.${DEVICE.bundleId}`,
});
const common = { challengeId: challenge.id, pushNonce };
const appAttest = (given: { attestation?: Buffer; assertion?: Buffer }, id: Buffer = key.keyId): Evidence => ({
  ...common,
  type: "app_attest",
  keyId: id.toString("base64"),
  attestation: given.attestation?.toString("base64"),
  assertion: given.assertion?.toString("base64"),
});
const deviceKey = (signer: AttestKey = key, point = signer.point): Evidence => ({
  ...common,
  type: "device_key",
  publicKey: point.toString("base64"),
  signature: sign("sha256", clientData(), signer.privateKey).toString("base64"),
});

const refused = (evidence: Evidence, reason: string, device: Device = {}, change: Partial<EvidenceContext> = {}) =>
  expect(verifyEvidence(evidence, contextOf(device, change))).rejects.toMatchObject({ extras: { fields: { reason } } });

test("the client data are eight lines, with the hash of the token", () => {
  expect(clientData().toString()).toBe(
    [
      "push-register.v1",
      challenge.id,
      challenge.value,
      pushNonce,
      "sandbox",
      DEVICE.bundleId,
      sha256(DEVICE.token).digest("hex"),
      DEVICE.accountId,
    ].join("\n"),
  );
});

describe("an attestation", () => {
  test.each(["sandbox", "production"] as const)(
    "of %s gives the device its key, at a counter of 0",
    async (environment) => {
      const attestation = mintAttestation({ ...partsOf({ environment }), environment });
      expect(await verifyEvidence(appAttest({ attestation }), contextOf({ environment }))).toEqual({
        key: { keyId: key.keyId.toString("base64"), publicKey: new Uint8Array(key.point), keyCounter: 0n },
        receipt: new Uint8Array(Buffer.from("receipt")),
      });
    },
  );

  test("is of the device's environment, app, account and token", async () => {
    const attestation = mintAttestation({ ...partsOf({ environment: "production" }), environment: "sandbox" });
    await refused(appAttest({ attestation }), "environment_mismatch", { environment: "production" });
    const genuine = appAttest({ attestation: mintAttestation({ ...partsOf(), environment: "sandbox" }) });
    await refused(genuine, "app_id_mismatch", {}, { teamId: "TEAM654321" });
    for (const other of [{ accountId: "another" }, { token: "another" }, { bundleId: "com.example.other" }]) {
      await refused(genuine, "nonce_mismatch", other);
    }
    await refused(genuine, "nonce_mismatch", {}, { challenge: { ...contextOf({}).challenge, value: "another" } });
  });

  test("of a Mac without its protections is valid where the configuration allows it", async () => {
    const attestation = mintAttestation({ ...partsOf(), environment: "sandbox" }, { more: macExtensions("none") });
    await refused(appAttest({ attestation }), "mac_unprotected");
    const allowed = verifyEvidence(appAttest({ attestation }), contextOf({}, { allowsUnprotectedMacs: true }));
    expect(await allowed).toMatchObject({ key: { keyCounter: 0n } });
  });
});

describe("an assertion", () => {
  const genuine = () => appAttest({ assertion: mintAssertion(partsOf(), 5) });

  test("moves the counter of the device's key", async () => {
    expect(await verifyEvidence(genuine(), contextOf(KNOWN))).toEqual({
      key: { keyId: KNOWN.keyId, publicKey: KNOWN.publicKey, keyCounter: 5n },
    });
  });

  test("is of a key that the device has, with a counter", async () => {
    await refused(genuine(), "key_unknown");
    await refused(genuine(), "key_unknown", { ...KNOWN, publicKey: null });
    await refused(genuine(), "key_unknown", { ...KNOWN, keyCounter: null }); // a key of the app's own
    await refused(appAttest({ assertion: mintAssertion(partsOf(), 5) }, newAttestKey().keyId), "key_unknown", KNOWN);
    await refused(genuine(), "counter_replayed", { ...KNOWN, keyCounter: 5n });
    await refused(appAttest({}), "malformed", KNOWN);
  });
});

describe("a key that the app made itself", () => {
  test("is taken in the sandbox, and it alone from then on", async () => {
    const pinned = { keyId: key.keyId.toString("base64"), publicKey: new Uint8Array(key.point), keyCounter: null };
    expect(await verifyEvidence(deviceKey(), contextOf({}))).toEqual({ key: pinned });
    expect(await verifyEvidence(deviceKey(), contextOf(pinned))).toEqual({ key: pinned });
    await refused(deviceKey(newAttestKey()), "key_unknown", pinned);
  });

  test("is refused in production", () => refused(deviceKey(), "device_key_refused", { environment: "production" }));

  test("has to have signed the client data of this device", async () => {
    await refused(deviceKey(newAttestKey(), key.point), "signature_invalid");
    await refused(deviceKey(key, Buffer.alloc(65, 4)), "signature_invalid"); // not on the curve
    await refused(deviceKey(key, Buffer.concat([Buffer.of(2), key.point.subarray(1)])), "signature_invalid");
    await refused(deviceKey(key, key.point.subarray(0, 64)), "signature_invalid");
    await refused(deviceKey(), "signature_invalid", { accountId: "another" });
  });
});

test("without the nonce that came through APNs nothing else counts", async () => {
  await refused({ ...deviceKey(), pushNonce: "another" }, "push_nonce_mismatch");
});

test("App Attest needs the developer's team, a key of the app's own does not", async () => {
  const noTeam = contextOf(KNOWN, { teamId: undefined });
  const assertion = mintAssertion(partsOf(), 5);
  await expect(verifyEvidence(appAttest({ assertion }), noTeam)).rejects.toMatchObject({ code: "push_not_configured" });
  expect(await verifyEvidence(deviceKey(), contextOf({}, { teamId: undefined }))).toHaveProperty(
    "key.keyCounter",
    null,
  );
});

// ASVS 6.7.1
test("the bundled root certificate is the one that Apple published", () => {
  const apple = new X509Certificate(APPLE_APP_ATTESTATION_ROOT);
  expect(apple.subject).toContain("CN=Apple App Attestation Root CA");
  expect(apple.verify(apple.publicKey)).toBe(true);
  expect(createHash("sha256").update(apple.raw).digest("hex")).toBe(
    "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932",
  );
});
