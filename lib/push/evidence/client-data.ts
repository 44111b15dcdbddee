import { createHash } from "node:crypto";

/** The values that a device signs in response to a challenge. */
export type ClientData = {
  challengeId: string;
  challengeValue: string;
  /** As received through APNs. */
  pushNonce: string;
  environment: string;
  bundleId: string;
  /** The device token in lower-case hex. */
  token: string;
  accountId: string;
};

/** Returns the bytes whose SHA-256 is App Attest's clientDataHash: eight lines, separated by line feeds. */
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
