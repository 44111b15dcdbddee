import { z } from "zod";

/** Base64 (RFC 4648, section 4) of a fixed number of bytes. */
const base64Of = (bytes: number) =>
  z
    .base64()
    .length(Math.ceil(bytes / 3) * 4)
    .refine((text) => Buffer.from(text, "base64").length === bytes, `Must be ${bytes} bytes`);

const challengeResponse = {
  challengeId: z.uuid().toLowerCase(),
  /** The 32 bytes received through APNs, in base64url. */
  pushNonce: z.base64url().length(43),
};

/** DCAppAttestService's attestation for the first use of a key, or its assertion for every later use. */
const AppAttestEvidence = z
  .object({
    type: z.literal("app_attest"),
    ...challengeResponse,
    keyId: base64Of(32),
    attestation: z.base64().max(16_384).optional(),
    assertion: z.base64().max(4_096).optional(),
  })
  .refine(({ attestation, assertion }) => (attestation === undefined) !== (assertion === undefined), {
    message: "Must have exactly one of attestation and assertion",
  });

/** A P-256 key made by the app, for simulators: its X9.63 point and an ECDSA signature in DER. */
const DeviceKeyEvidence = z.object({
  type: z.literal("device_key"),
  ...challengeResponse,
  publicKey: base64Of(65),
  signature: z.base64().max(128),
});

export const Evidence = z.discriminatedUnion("type", [AppAttestEvidence, DeviceKeyEvidence]);
export type Evidence = z.infer<typeof Evidence>;
export type AppAttestEvidence = z.infer<typeof AppAttestEvidence>;
export type DeviceKeyEvidence = z.infer<typeof DeviceKeyEvidence>;
