import { createHash, timingSafeEqual } from "node:crypto";
import type { OperatorKey } from "../../context";
import { generateApiKey } from "../api-keys/key-text";

/** Returns a new key, in the format of API keys: scanners recognize it. */
export function createOperatorKey(): OperatorKey {
  const text = generateApiKey();
  const digest = digestOf(text);
  let isRevoked = false;
  return {
    text,
    matches: (given) => timingSafeEqual(digestOf(given), digest) && !isRevoked,
    revoke: () => {
      isRevoked = true;
    },
  };
}

/** Of equal length for texts of every length. */
const digestOf = (text: string) => createHash("sha256").update(text).digest();
