import { z } from "zod";

/** A notification has some 20 KB: three signed parts, each with its chain of certificates. */
const MAX_LENGTH = 64 * 1024;
const MAX_HEADER_LENGTH = 16 * 1024;

const Header = z.object({ alg: z.literal("ES256"), x5c: z.tuple([z.string(), z.string(), z.string()]) });
const Subject = z.object({ bundleId: z.string(), environment: z.string().optional() });
const Payload = z.object({
  data: Subject.nullish(),
  summary: Subject.nullish(),
  externalPurchaseToken: Subject.nullish(),
  appData: Subject.nullish(),
});

/** What a notification says of itself before its signature is verified. */
export type Claim = { bundleId: string; environment: string | undefined };

/**
 * Reads a signed notification without verifying any signature, which takes milliseconds. Returns null if Apple cannot have
 * signed it: by its size, its JWS header (RFC 7515, section 4.1), or the last certificate of its chain, which must be the
 * root. Proves nothing.
 */
export function claimOf(signed: string, root: string): Claim | null {
  if (signed.length > MAX_LENGTH) return null;
  const [header = "", payload = "", signature, ...rest] = signed.split(".");
  if (!signature || rest.length > 0 || header.length > MAX_HEADER_LENGTH) return null;
  const chain = decode(Header, header)?.x5c;
  if (!chain || !Buffer.from(chain[2], "base64").equals(derOf(root))) return null;
  const { data, summary, externalPurchaseToken, appData } = decode(Payload, payload) ?? {};
  const subject = data ?? summary ?? externalPurchaseToken ?? appData;
  return subject ? { bundleId: subject.bundleId, environment: subject.environment } : null;
}

/** Without parsing it: that takes as long as all else here. */
const derOf = (pem: string) => Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");

function decode<Value>(schema: z.ZodType<Value>, part: string): Value | null {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(part, "base64url").toString())).data ?? null;
  } catch {
    return null; // not JSON
  }
}
