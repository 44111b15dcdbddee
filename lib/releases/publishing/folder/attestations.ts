import path from "node:path";
import { type AttestationBundle, readBundles } from "../attestations/attest-draft";
import { digestFile } from "../files/build-file";
import { type FoundFolder, type Listing, toFile } from "./found-releases";

/** As actions/attest, cosign and `gh attestation download` name what they write. */
const ATTESTATION = /\.sigstore(\.json)?$|\.jsonl$|(^|\/)attestation\.json$/i;

/** Adds to the files of a folder the attestations in it that are of them, whatever their names. Nothing is verified. */
export async function addAttestations(listing: Listing, { releases, notes }: FoundFolder): Promise<void> {
  const attestations = new Map<string, string>();
  const unused = new Set<string>();
  for (const name of [...listing.files].filter((one) => ATTESTATION.test(one)).sort()) {
    const { file } = toFile(listing, name);
    const bundles: AttestationBundle[] = await readBundles(file).catch(() => []);
    for (const sha256 of bundles.flatMap(({ subjects }) => subjects)) attestations.set(sha256, file);
    unused.add(file);
  }
  if (attestations.size > 0) {
    for (const file of releases.flatMap(({ files }) => files)) {
      file.attestationFile = attestations.get((await digestFile(file.file)).sha256);
      if (file.attestationFile !== undefined) unused.delete(file.attestationFile);
    }
  }
  for (const file of unused) {
    notes.push(`${path.basename(file)} is not published: it does not state the provenance of a published file.`);
  }
}
