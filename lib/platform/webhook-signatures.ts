import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The parts of a received request that a signature covers. */
type Signed = { headers: { get: (name: string) => string | null }; raw: Uint8Array };

/** How old a delivery may be, and how far ahead: it limits the replay of a recorded one. */
const TOLERANCE_SECONDS = 300;
const STANDARD_PREFIX = "whsec_";

type Scheme = {
  /** The parts of the headers. `prefix` is what is signed before the body. */
  parse: (headers: Signed["headers"]) => { at: string | undefined; signatures: string[]; prefix: string };
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

/** Standard Webhooks 1.0.0, "Signature scheme": the id is signed, too. Svix, which began it, has other names of headers. */
const standardScheme = (name: "webhook" | "svix"): Scheme => ({
  parse: (headers) => {
    const at = headers.get(`${name}-timestamp`) ?? undefined;
    const id = headers.get(`${name}-id`);
    const given = (headers.get(`${name}-signature`) ?? "").split(" ");
    const signatures = given.filter((one) => id !== null && one.startsWith("v1,")).map((one) => one.slice(3));
    return { at, signatures, prefix: `${id}.${at}.` };
  },
  write: ({ id, at, signature }) => ({
    [`${name}-id`]: id,
    [`${name}-timestamp`]: at,
    [`${name}-signature`]: `v1,${signature}`,
  }),
  keyOf: (secret) =>
    Buffer.from(secret.startsWith(STANDARD_PREFIX) ? secret.slice(STANDARD_PREFIX.length) : secret, "base64"),
  encoding: "base64",
});

/** How senders sign a webhook. All use HMAC-SHA256 over a time and the body. */
const SCHEMES = {
  revenuecat: fieldScheme("x-revenuecat-webhook-signature", { separator: ",", at: "t", signature: "v1", joint: "." }),
  /** Stripe, "Verify webhook signatures manually". */
  stripe: fieldScheme("stripe-signature", { separator: ",", at: "t", signature: "v1", joint: "." }),
  /** Paddle, "Verify webhook signatures". */
  paddle: fieldScheme("paddle-signature", { separator: ";", at: "ts", signature: "h1", joint: ":" }),
  standardWebhooks: standardScheme("webhook"),
  /** Svix, "Verifying webhooks manually". */
  svix: standardScheme("svix"),
} satisfies Record<string, Scheme>;

/** Whether one of the secrets signed a delivery within five minutes of `now`. Malformed headers are not signed. */
export function isSigned(
  scheme: keyof typeof SCHEMES,
  { headers, raw }: Signed,
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

/** Whether a value equals one of the candidates. Takes the same time whatever their lengths and contents. */
export function matchesAny(candidates: readonly string[], value: string): boolean {
  const sha256 = (text: string) => createHash("sha256").update(text).digest();
  const given = sha256(value);
  return candidates.map((candidate) => timingSafeEqual(sha256(candidate), given)).includes(true);
}
