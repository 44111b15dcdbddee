import { createHmac, randomBytes } from "node:crypto";

const SECRET_PREFIX = "whsec_";
/** The specification allows 24 to 64. */
const SECRET_BYTES = 32;

/** What an endpoint's secret is encrypted for: see `encryptSecret`. */
export const webhookPurpose = (endpointId: string): string => `webhook:${endpointId}`;

/** A new signing secret. Standard Webhooks 1.0.0, "Signature scheme". */
export function newWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/**
 * The headers that sign a message with each of the valid secrets: HMAC-SHA256 over `id.timestamp.body`. The id is the same
 * for every attempt; the timestamp is that of the attempt.
 */
export function signWebhook(
  { id, at, body }: { id: string; at: Date; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
