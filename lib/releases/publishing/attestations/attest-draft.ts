import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { AppError } from "../../../errors";
import type { Config } from "../../../platform/config";
import { type HashedDraft, type HashedFile, locationOf } from "../draft";
import { type BuildIdentity, claimedSubjects, verifyAttestation } from "./verify-attestation";

type Target = { product: string; channel: string };

/** What verifies attestations. */
export type Attestations = {
  trustedRoots: Config["SIGSTORE_TRUSTED_ROOT"];
  /**
   * How a build differs from those of a product's publishers for a channel; null: one of them made it. Without it, as for
   * a catalog that is only a file, the publishers are unknown.
   */
  findDifference?: (release: Target, identity: BuildIdentity) => Promise<string | null>;
};

/** A bundle has a few KB, and a hundred bytes more for each of 1,024 files at most. */
const MAX_ATTESTATION_BYTES = 1024 * 1024;
/** More bundles than a file of that size can have. */
const MAX_LINES = 1_000;
/** As many as `gh attestation download` gets. */
const MAX_BUNDLES = 30;
const ATTESTATION_EXTENSION = ".sigstore.json";

/** One bundle of a file: `bytes` as they are stored and served. */
export type AttestationBundle = { bytes: Buffer; json: unknown; subjects: readonly string[] };

/**
 * The bundles in a file that state the provenance of files: JSON as actions/attest writes it, or one on each line as
 * `gh attestation download` writes them. Nothing is verified. @throws Error if the file is too large, or no JSON
 */
export async function readBundles(file: string): Promise<AttestationBundle[]> {
  const { size } = await stat(file);
  if (size > MAX_ATTESTATION_BYTES) throw new Error("it is larger than 1 MiB");
  return parseDocuments(await readFile(file, "utf8"))
    .map(({ text, json }) => ({ bytes: Buffer.from(text), json, subjects: claimedSubjects(json) }))
    .filter(({ subjects }) => subjects.length > 0);
}

/** @throws Error */
function parseDocuments(text: string): { text: string; json: unknown }[] {
  try {
    return [{ text, json: JSON.parse(text) }];
  } catch {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    if (lines.length > MAX_LINES) throw new Error(`it has more than ${MAX_LINES} lines`);
    return lines.map((line) => ({ text: `${line}\n`, json: JSON.parse(line) }));
  }
}

/**
 * Verifies the attestations of a draft's files, and adds them to what is stored. Returns a sentence for what it could not
 * verify. @throws AppError attestation_invalid
 */
export async function attestDraft(draft: HashedDraft, attestations: Attestations) {
  const { product, channel = "stable" } = draft.release;
  const target = { product: String(product), channel: String(channel) };
  const notes = new Set<string>();
  const files: HashedFile[] = [];
  for (const file of draft.files) {
    if (file.attestationFile === undefined) {
      files.push(file);
      continue;
    }
    const { bundle, identity } = await findAttestation(file, target, attestations);
    if (!attestations.findDifference) notes.add(uncompared(target.product, identity));
    files.push(withAttestation(file, bundle.bytes));
  }
  return { draft: { ...draft, files }, notes: [...notes] };
}

const uncompared = (product: string, { signer }: BuildIdentity) =>
  `The attestation is by ${signer}. This was NOT compared with the publishers of ${product}: only the service knows them.`;

/** The first bundle that is of the file and by a publisher. */
async function findAttestation(
  { artifact: { fileName, sha256 }, attestationFile = "" }: HashedFile,
  target: Target,
  { trustedRoots, findDifference }: Attestations,
) {
  const problems = new Set<string>();
  try {
    const bundles = await readBundles(attestationFile);
    const own = bundles.filter(({ subjects }) => subjects.includes(sha256)).slice(0, MAX_BUNDLES);
    if (own.length === 0) problems.add("it states the provenance of other files, or of none");
    for (const bundle of own) {
      try {
        const identity = verifyAttestation(bundle.json, sha256, trustedRoots);
        const difference = (await findDifference?.(target, identity)) ?? null;
        if (difference === null) return { bundle, identity };
        problems.add(difference);
      } catch (error) {
        problems.add((error as Error).message);
      }
    }
  } catch (error) {
    problems.add((error as Error).message);
  }
  const reasons = [...problems].join("; ");
  throw new AppError("attestation_invalid", `The attestation of ${fileName} is not valid: ${reasons}.`);
}

/** Beside its file, or in the catalog's folder if that is at a URL. */
function withAttestation(file: HashedFile, bytes: Buffer): HashedFile {
  const { artifact, destination } = file;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const name = `${artifact.sha256.slice(0, 16)}/${sha256.slice(0, 16)}${ATTESTATION_EXTENSION}`;
  const location = locationOf(destination.kind === "url" ? { kind: "folder" } : destination, name);
  const attestation = { ...location, sizeBytes: bytes.byteLength, sha256 };
  return { ...file, artifact: { ...artifact, attestation }, attestation: bytes };
}
