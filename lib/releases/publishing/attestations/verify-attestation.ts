import { type Bundle, bundleFromJSON, isBundleWithDsseEnvelope, type ValidationError } from "@sigstore/bundle";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import { type Signer, type TrustMaterial, toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { z } from "zod";
import type { TrustedRootDocument } from "../../../platform/config/sigstore";
import { perObject } from "../../../platform/per-object";
// trusted_root.json of https://tuf-repo-cdn.sigstore.dev, as @sigstore/tuf 5.0.1 has it in seeds.json.
import publicGoodRoot from "./public-good-root.json" with { type: "json" };

/**
 * The extensions of Fulcio's certificates that say what was built, by the last number of their OIDs
 * (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md).
 */
const EXTENSIONS = {
  /** The `iss` of the CI job's ID token. */
  issuer: 8,
  /** The workflow of the job, such as `https://github.com/acme/app/.github/workflows/release.yml@refs/tags/v1`. */
  signer: 9,
  /** Such as `https://github.com/acme/app`. */
  repository: 12,
  commit: 13,
  ref: 14,
  repositoryId: 15,
  ownerId: 17,
  /** The workflow that was started. It can use another repository's for a job. */
  workflow: 18,
  /** What started the job, such as `push`. */
  trigger: 20,
  runUrl: 21,
  /** The `sub` of the ID token. */
  subject: 24,
} as const;
const FULCIO = "1.3.6.1.4.1.57264.1";

/** Who built a file, as the certificate of its attestation says. null: it does not say. */
export type BuildIdentity = Record<keyof typeof EXTENSIONS, string | null>;

/** An in-toto statement with SLSA provenance (https://slsa.dev/spec/v1.0/provenance). */
const Provenance = z.object({
  _type: z.literal("https://in-toto.io/Statement/v1"),
  predicateType: z.literal("https://slsa.dev/provenance/v1"),
  subject: z.array(z.object({ digest: z.object({ sha256: z.string().toLowerCase().optional() }) })),
});

/** The SHA-256 of each file whose provenance an envelope states (DSSE). None: it states something else. */
function subjectsOf({ payloadType, payload }: { payloadType: string; payload: Buffer }): string[] {
  if (payloadType !== "application/vnd.in-toto+json") return [];
  try {
    return Provenance.parse(JSON.parse(payload.toString())).subject.flatMap(({ digest }) => digest.sha256 ?? []);
  } catch {
    return [];
  }
}

const Envelope = z.object({ dsseEnvelope: z.object({ payloadType: z.string(), payload: z.string() }) });

/** The SHA-256 of each file whose provenance a Sigstore bundle states, which is not verified. */
export function claimedSubjects(json: unknown): string[] {
  const { data } = Envelope.safeParse(json);
  return data ? subjectsOf({ ...data.dsseEnvelope, payload: Buffer.from(data.dsseEnvelope.payload, "base64") }) : [];
}

/**
 * Verifies a Sigstore bundle that states the provenance of the file with this SHA-256: the certificate's chain and its
 * log, the time when it was signed, the inclusion in the log of signatures, and the signature. Without `roots`, those of
 * the public-good instance count. @throws Error that says what is wrong
 */
export function verifyAttestation(
  json: unknown,
  sha256: string,
  roots: readonly TrustedRootDocument[] = [publicGoodRoot],
): BuildIdentity {
  const problems = new Set<string>();
  for (const root of roots) {
    try {
      const bundle = bundleFromJSON(json);
      if (!isBundleWithDsseEnvelope(bundle) || !subjectsOf(bundle.content.dsseEnvelope).includes(sha256)) {
        throw new Error("it does not state the provenance of the file");
      }
      return identityOf(verifyBundle(bundle, trustOf(root)));
    } catch (error) {
      const { message, fields = [] } = error as Partial<ValidationError>;
      problems.add([message, ...fields].join(" "));
    }
  }
  throw new Error([...problems].join("; "));
}

/** Fulcio of a private instance may have no log of certificates, and GitHub's has no log of signatures: timestamps replace it. */
function verifyBundle(bundle: Bundle, trust: TrustMaterial): Signer {
  const { content, tlogEntries } = bundle.verificationMaterial;
  if (content.$case === "publicKey") throw new Error("it was signed with a key, not by a CI job");
  if (tlogEntries.some(({ inclusionProof }) => !inclusionProof?.checkpoint))
    throw new Error("it has no inclusion proof");
  removeForeignSignatures(bundle, trust);
  const thresholds = {
    ctlogThreshold: Math.min(trust.ctlogs.length, 1),
    tlogThreshold: Math.min(trust.tlogs.length, 1),
    timestampThreshold: 1,
  };
  return new Verifier(trust, thresholds).verify(toSignedEntity(bundle));
}

/** As @sigstore/verify finds them, which takes the name of each signer for a regular expression. */
const CHECKPOINT_SIGNATURE = /\u2014 (\S+) \S+\n/g;

/** Removes signatures by others than known logs from the bundle's checkpoints. */
function removeForeignSignatures({ verificationMaterial }: Bundle, { tlogs }: TrustMaterial): void {
  for (const { inclusionProof } of verificationMaterial.tlogEntries) {
    const checkpoint = inclusionProof?.checkpoint;
    if (!checkpoint) continue;
    const end = checkpoint.envelope.indexOf("\n\n");
    if (end === -1) throw new Error("its checkpoint has no signature");
    const note = checkpoint.envelope.slice(0, end + 2);
    const known = [...checkpoint.envelope.slice(end + 2).matchAll(CHECKPOINT_SIGNATURE)].filter(([, name = ""]) =>
      tlogs.some(({ baseURL }) => baseURL.includes(name)),
    );
    checkpoint.envelope = note + known.map(([line]) => line).join("");
  }
}

const trustOf = perObject((root: TrustedRootDocument): TrustMaterial => toTrustMaterial(TrustedRoot.fromJSON(root)));

function identityOf({ identity }: Signer): BuildIdentity {
  const values = new Map(identity?.oids?.map(({ oid, value }) => [oid?.id.join("."), value]));
  const entries = Object.entries(EXTENSIONS).map(([name, number]) => [name, textOf(values.get(`${FULCIO}.${number}`))]);
  return Object.fromEntries(entries) as BuildIdentity;
}

const UTF8_STRING = 0x0c;

/** Reads a UTF8String in DER of fewer than 65,536 bytes. @throws Error for anything else */
function textOf(der: Buffer | undefined): string | null {
  if (der === undefined) return null;
  const [tag, length = 0] = der;
  const lengthBytes = length < 0x80 ? 0 : length - 0x80;
  const text = der.subarray(2 + lengthBytes);
  const isWhole = lengthBytes <= 2 && text.length === (lengthBytes === 0 ? length : der.readUIntBE(2, lengthBytes));
  if (tag !== UTF8_STRING || !isWhole) throw new Error("its certificate has an unreadable extension");
  return new TextDecoder("utf-8", { fatal: true }).decode(text);
}
