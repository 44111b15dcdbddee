import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { Delivery } from "./provider";

/** How old a delivery may be, and how far ahead: it limits the replay of a recorded one. */
const TOLERANCE_SECONDS = 300;
const STANDARD_PREFIX = "whsec_";

type Scheme = {
  /** The parts of the headers. `prefix` is what is signed before the body. */
  parse: (headers: Delivery["headers"]) => { at: string | undefined; signatures: string[]; prefix: string };
  /** The headers of a delivery. */
  write: (signed: { id: string; at: string; signature: string }) => Record<string, string>;
  keyOf: (secret: string) => string | Buffer;
  encoding: "hex" | "base64";
};

/** Fields of one header, such as `t=1795165200,v1=4f2a…`. What is signed is the time, a separator and the body. */
const fieldScheme = (
  header: string,
  field: { separator: string; at: string; signature: string; joint: string },
): Scheme => ({
  parse: (headers) => {
    const fields = (headers.get(header) ?? "").split(field.separator).map((one) => one.trim());
    const valuesOf = (name: string) =>
      fields.filter((one) => one.startsWith(`${name}=`)).map((one) => one.slice(name.length + 1));
    const [at] = valuesOf(field.at);
    return { at, signatures: valuesOf(field.signature).map((one) => one.toLowerCase()), prefix: `${at}${field.joint}` };
  },
  write: ({ at, signature }) => ({ [header]: `${field.at}=${at}${field.separator}${field.signature}=${signature}` }),
  keyOf: (secret) => secret,
  encoding: "hex",
});

/** How providers sign a delivery. All use HMAC-SHA256 over a time and the body. */
const SCHEMES = {
  revenuecat: fieldScheme("x-revenuecat-webhook-signature", { separator: ",", at: "t", signature: "v1", joint: "." }),
  /** Stripe, "Verify webhook signatures manually". */
  stripe: fieldScheme("stripe-signature", { separator: ",", at: "t", signature: "v1", joint: "." }),
  /** Paddle, "Verify webhook signatures". */
  paddle: fieldScheme("paddle-signature", { separator: ";", at: "ts", signature: "h1", joint: ":" }),
  /** Standard Webhooks 1.0.0, "Signature scheme": the id is signed, too. */
  standardWebhooks: {
    parse: (headers) => {
      const at = headers.get("webhook-timestamp") ?? undefined;
      const id = headers.get("webhook-id");
      const given = (headers.get("webhook-signature") ?? "").split(" ");
      const signatures = given.filter((one) => id !== null && one.startsWith("v1,")).map((one) => one.slice(3));
      return { at, signatures, prefix: `${id}.${at}.` };
    },
    write: ({ id, at, signature }) => ({
      "webhook-id": id,
      "webhook-timestamp": at,
      "webhook-signature": `v1,${signature}`,
    }),
    keyOf: (secret) =>
      Buffer.from(secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret, "base64"),
    encoding: "base64",
  },
} satisfies Record<string, Scheme>;

/** Whether one of the secrets signed a delivery within five minutes of `now`. Malformed headers are not signed. */
export function isSigned(
  scheme: keyof typeof SCHEMES,
  { headers, raw }: Pick<Delivery, "headers" | "raw">,
  secrets: readonly string[],
  now: Date,
): boolean {
  const { parse, keyOf, encoding } = SCHEMES[scheme];
  const { at, signatures, prefix } = parse(headers);
  if (at === undefined || !/^\d{1,12}$/.test(at)) return false;
  if (Math.abs(now.getTime() / 1000 - Number(at)) > TOLERANCE_SECONDS) return false;
  const hmacs = secrets.map((secret) => createHmac("sha256", keyOf(secret)).update(prefix).update(raw));
  return hmacs.map((hmac) => matchesAny(signatures, hmac.digest(encoding))).includes(true);
}

/** Signs a body as a provider does. Returns the headers, which `isSigned` accepts. */
export function signatureHeaders(
  scheme: keyof typeof SCHEMES,
  secret: string,
  { id, raw, now }: { id: string; raw: Uint8Array; now: Date },
): Record<string, string> {
  const { parse, write, keyOf, encoding } = SCHEMES[scheme];
  const at = String(Math.floor(now.getTime() / 1000));
  const { prefix } = parse(new Headers(write({ id, at, signature: "" })));
  const signature = createHmac("sha256", keyOf(secret)).update(prefix).update(raw).digest(encoding);
  return write({ id, at, signature });
}

/**
 * Authenticates a delivery by what is configured: the Authorization header, the signature, or both.
 * @throws AppError webhook_not_configured if neither is configured, webhook_unauthorized
 */
export function requireAuthentic(scheme: keyof typeof SCHEMES, config: Config, delivery: Delivery, now: Date): void {
  const { BILLING_WEBHOOK_AUTHORIZATION: allowed, BILLING_WEBHOOK_SIGNING_SECRET: secret } = config;
  if (allowed.length === 0 && secret === undefined) throw new AppError("webhook_not_configured");
  const authorized = allowed.length === 0 || matchesAny(allowed, delivery.headers.get("authorization") ?? "");
  const signed = secret === undefined || isSigned(scheme, delivery, [secret], now);
  if (!authorized || !signed) throw new AppError("webhook_unauthorized");
}

/** Whether a value equals one of the candidates. Takes the same time whatever their lengths and contents. */
function matchesAny(candidates: readonly string[], value: string): boolean {
  const sha256 = (text: string) => createHash("sha256").update(text).digest();
  const given = sha256(value);
  return candidates.map((candidate) => timingSafeEqual(sha256(candidate), given)).includes(true);
}
