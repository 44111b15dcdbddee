import type { webhooks } from "./api.generated.js";
import { fromBase64 } from "./base64.js";

const TOLERANCE_SECONDS = 5 * 60;

type Payload<Type extends keyof webhooks> = webhooks[Type]["post"]["requestBody"]["content"]["application/json"];

/** An event. `id` is the same for every delivery of it: ignore an id that you have processed. */
export type WebhookEvent = { [Type in keyof webhooks]: { id: string } & Payload<Type> }[keyof webhooks];

/** Why a delivery is not the service's, or is too old. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export type WebhookDelivery = {
  headers: Headers | Record<string, string | string[] | undefined>;
  /** As it was received: parsing and printing JSON changes it. */
  body: string | Uint8Array;
};

/**
 * Verifies a delivery of the service's webhooks (Standard Webhooks 1.0.0). Several `secrets` are valid during a rotation.
 * @throws WebhookError unless a secret has signed it in the last five minutes
 */
export async function verifyWebhook(
  { headers, body }: WebhookDelivery,
  secrets: string | readonly string[],
  { now = Date.now() } = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (!id || !timestamp || !signature) throw new WebhookError("The delivery is not signed");
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS))
    throw new WebhookError("The timestamp is more than five minutes off");
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const signatures = signature.split(" ").filter((one) => one.startsWith("v1,"));
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    if (await hasSigned(secret, signatures, signed)) return { ...JSON.parse(text), id };
  }
  throw new WebhookError("No secret matches the signature");
}

/** Whether one of the signatures is the secret's. `verify` compares in constant time. */
async function hasSigned(secret: string, signatures: string[], signed: BufferSource): Promise<boolean> {
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (!bytes?.length) throw new TypeError("A webhook secret is whsec_ followed by base64");
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const signature of signatures) {
    const given = fromBase64(signature.slice("v1,".length));
    if (given && (await crypto.subtle.verify("HMAC", key, given, signed))) return true;
  }
  return false;
}

function headerOf(headers: WebhookDelivery["headers"], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = headers[name]; // Node.js has the names in lower case
  return Array.isArray(value) ? value[0] : value;
}
