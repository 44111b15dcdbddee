import { createHash } from "node:crypto";

/** All that a device vouches for when it answers a challenge. */
export type ClientData = {
  challengeId: string;
  challengeValue: string;
  /** As it came through APNs. */
  pushNonce: string;
  environment: string;
  bundleId: string;
  /** The device token in lower-case hex. */
  token: string;
  accountId: string;
};

/** The bytes whose SHA-256 is App Attest's clientDataHash: eight lines, joined by a line feed. */
export function buildClientData(data: ClientData): Buffer {
  const { challengeId, challengeValue, pushNonce, environment, bundleId, token, accountId } = data;
  const tokenHash = createHash("sha256").update(token).digest("hex");
  const lines = [
    "push-register.v1",
    challengeId,
    challengeValue,
    pushNonce,
    environment,
    bundleId,
    tokenHash,
    accountId,
  ];
  return Buffer.from(lines.join("\n"));
}
