import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { text } from "./values";

const Certificate = z.looseObject({
  rawBytes: z.string().refine((base64) => {
    try {
      return new X509Certificate(Buffer.from(base64, "base64")) !== null;
    } catch {
      return false;
    }
  }),
});
const Authority = z.looseObject({ certChain: z.looseObject({ certificates: z.array(Certificate).min(1) }) });
const Log = z.looseObject({ baseUrl: z.string(), publicKey: z.looseObject({ rawBytes: z.string() }) });

/** What a Sigstore instance signs with (sigstore/protobuf-specs, sigstore_trustroot.proto). */
const TrustedRootDocument = z.looseObject({
  mediaType: z.string().startsWith("application/vnd.dev.sigstore.trustedroot"),
  certificateAuthorities: z.array(Authority).min(1),
  tlogs: z.array(Log).default([]),
  ctlogs: z.array(Log).default([]),
  timestampAuthorities: z.array(Authority).default([]),
});
export type TrustedRootDocument = z.infer<typeof TrustedRootDocument>;

/** `SIGSTORE_TRUSTED_ROOT`: the path of a file with trusted roots, each on a line as `gh attestation trusted-root` prints them, or one alone. */
export const trustedRoots = text.transform((file, ctx): readonly TrustedRootDocument[] => {
  try {
    const content = readFileSync(file, "utf8").trim();
    const documents = /^\{.*\}$/m.test(content) ? content.split("\n") : [content];
    return documents.map((document) => TrustedRootDocument.parse(JSON.parse(document)));
  } catch {
    ctx.addIssue("must be the path of a trusted root of Sigstore: JSON, or one on each line");
    return z.NEVER;
  }
});
