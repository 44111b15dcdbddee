import { z } from "zod";

const KIB = 1024;

/** Base64 (RFC 4648, section 4) of exactly so many bytes. */
const base64Of = (bytes: number) =>
  z
    .base64()
    .length(Math.ceil(bytes / 3) * 4)
    .refine((text) => Buffer.from(text, "base64").length === bytes, `Must be ${bytes} bytes`);

const answer = {
  challengeId: z.uuid().toLowerCase(),
  /** As it came through APNs: 32 bytes in base64url. */
  pushNonce: z.base64url().length(43),
};

/** What DCAppAttestService makes: an attestation for a key's first use, an assertion for every later one. */
const AppAttestEvidence = z
  .object({
    type: z.literal("app_attest"),
    ...answer,
    keyId: base64Of(32),
    attestation: z
      .base64()
      .max(16 * KIB)
      .optional(),
    assertion: z
      .base64()
      .max(4 * KIB)
      .optional(),
  })
  .refine(({ attestation, assertion }) => (attestation === undefined) !== (assertion === undefined), {
    message: "Give exactly one of attestation and assertion",
  });

/** A P-256 key of the app's own, for simulators: the point as X9.63 has it, and an ECDSA signature in DER. */
const DeviceKeyEvidence = z.object({
  type: z.literal("device_key"),
  ...answer,
  publicKey: base64Of(65),
  signature: z.base64().max(128),
});

export const Evidence = z.discriminatedUnion("type", [AppAttestEvidence, DeviceKeyEvidence]);
export type Evidence = z.infer<typeof Evidence>;
export type AppAttestEvidence = z.infer<typeof AppAttestEvidence>;
export type DeviceKeyEvidence = z.infer<typeof DeviceKeyEvidence>;
