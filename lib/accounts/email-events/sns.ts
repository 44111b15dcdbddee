import { verify, X509Certificate } from "node:crypto";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";

type Deps = Pick<Context, "fetchText" | "log" | "now">;

/** Amazon SNS, "HTTP/HTTPS notification JSON format" and "HTTP/HTTPS subscription confirmation JSON format". */
const SnsMessage = z.object({
  Type: z.enum(["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"]),
  Message: z.string(),
  MessageId: z.string(),
  Subject: z.string().nullish(),
  SubscribeURL: z.string().nullish(),
  Timestamp: z.string(),
  Token: z.string().nullish(),
  TopicArn: z.string(),
  SignatureVersion: z.enum(["1", "2"]),
  Signature: z.string(),
  SigningCertURL: z.string(),
});
type SnsMessage = z.infer<typeof SnsMessage>;

/** Amazon SNS, "Verifying the signatures of Amazon SNS messages": the fields that are signed, in this order. */
const SIGNED = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
} as const;

const HASHES = { 1: "RSA-SHA1", 2: "RSA-SHA256" } as const;

const HOST = /^sns\.[a-z\d-]{3,30}\.amazonaws\.com(\.cn)?$/;

/** The certificates in this process by their URLs, which Amazon changes with them. */
const certificates = new Map<string, X509Certificate>();
const MAX_CERTIFICATES = 10;

/**
 * Reads what a topic of Amazon SNS delivers, and confirms a subscription to it. Returns the text of a notification; null if
 * there is none. Anybody can have a topic, so that the sender must have proved itself by the secret already.
 * @throws AppError webhook_unauthorized, validation_failed, provider_unavailable if Amazon does not respond
 */
export async function readSnsMessage(deps: Deps, body: unknown): Promise<string | null> {
  const { data: message, error: cause } = SnsMessage.safeParse(body);
  if (!message) {
    const detail = "The message is not as Amazon SNS documents it. Raw message delivery must be off.";
    throw new AppError("validation_failed", { detail, cause });
  }
  await requireSigned(deps, message);
  if (message.Type === "Notification") return message.Message;
  if (message.Type === "SubscriptionConfirmation") {
    await fetchFromAmazon(deps, message.SubscribeURL ?? "");
    deps.log.info({ topic: message.TopicArn }, "the subscription to a topic of Amazon SNS was confirmed");
  }
  return null;
}

async function requireSigned(deps: Deps, message: SnsMessage): Promise<void> {
  const certificate = await certificateOf(deps, message.SigningCertURL);
  const at = deps.now();
  const isValid = new Date(certificate.validFrom) <= at && at <= new Date(certificate.validTo);
  const signed = SIGNED[message.Type]
    .filter((name) => message[name] != null)
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
  const signature = Buffer.from(message.Signature, "base64");
  if (!isValid || !verify(HASHES[message.SignatureVersion], Buffer.from(signed), certificate.publicKey, signature))
    throw new AppError("webhook_unauthorized");
}

async function certificateOf(deps: Deps, url: string): Promise<X509Certificate> {
  const known = certificates.get(url);
  if (known) return known;
  if (!url.endsWith(".pem")) throw new AppError("webhook_unauthorized");
  const pem = await fetchFromAmazon(deps, url);
  try {
    const certificate = new X509Certificate(pem);
    if (certificates.size >= MAX_CERTIFICATES) certificates.clear();
    certificates.set(url, certificate);
    return certificate;
  } catch (cause) {
    throw new AppError("provider_unavailable", { cause });
  }
}

/** @throws AppError webhook_unauthorized for a URL that is not Amazon's, provider_unavailable */
async function fetchFromAmazon({ fetchText }: Deps, url: string): Promise<string> {
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: "", host: "" };
  if (protocol !== "https:" || !HOST.test(host)) throw new AppError("webhook_unauthorized");
  try {
    return await fetchText(url);
  } catch (cause) {
    throw new AppError("provider_unavailable", { cause });
  }
}
