import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import path from "node:path";
import { ifMissing, makeFolder, writeDurably } from "../../platform/files/durable";
import { dosInstaller, macAppTarball, macAppZip } from "./sample-installers";
import { SAMPLE_PUBLIC_KEY, signForSparkle, signForTauri } from "./sample-signatures";

const PRODUCTS = { core: "Core", ops: "Ops" } as const;

/** Oldest first. */
const RELEASES = [
  { version: "1.0.0", channel: "stable", releasedAt: "2026-09-01T09:00:00Z", notes: "The first release." },
  { version: "1.1.0", channel: "stable", releasedAt: "2026-11-03T09:00:00Z", notes: "Starts faster." },
  { version: "1.2.0-beta.1", channel: "beta", releasedAt: "2026-11-17T09:00:00Z", notes: "A preview of 1.2." },
] as const;

/** The file with the public key of the samples' signatures, in the catalog's folder. */
export const SAMPLE_KEY_FILE = "sample.pub";

type Product = keyof typeof PRODUCTS;

/**
 * Writes a catalog with small real files, signed for every updater, unless `manifest` exists. Writes the manifest last,
 * so that the next start repeats an interrupted run. Returns whether it has written.
 */
export async function writeSampleCatalog(manifest: string): Promise<boolean> {
  if (await lstat(manifest).catch(ifMissing(null))) return false;
  const folder = path.dirname(manifest);
  await makeFolder(folder);
  const releases = [];
  for (const product of Object.keys(PRODUCTS) as Product[]) {
    for (const release of RELEASES.filter(({ channel }) => channel === "stable" || product === "core")) {
      releases.push(await writeRelease(folder, "windows", product, release));
      releases.push(await writeRelease(folder, "macos", product, release));
    }
  }
  await writeDurably(path.join(folder, SAMPLE_KEY_FILE), Buffer.from(SAMPLE_PUBLIC_KEY));
  await writeDurably(manifest, Buffer.from(`${JSON.stringify({ schemaVersion: 1, releases }, null, 2)}\n`));
  return true;
}

/** Writes a release's files. Returns its manifest entry. */
async function writeRelease(
  folder: string,
  platform: "windows" | "macos",
  product: Product,
  release: (typeof RELEASES)[number],
) {
  const { version } = release;
  const app = { title: `Homeport ${PRODUCTS[product]}`, product, version };
  const architecture = platform === "windows" ? "x64" : "universal";
  const writeArtifact = async (extension: string, bytes: Buffer, contentType: string) => {
    const fileName = `homeport-${product}-${version}-${architecture}.${extension}`;
    await writeDurably(path.join(folder, fileName), bytes, { modifiedAt: new Date(release.releasedAt) });
    return {
      file: fileName,
      fileName,
      sizeBytes: bytes.byteLength,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      sha512: createHash("sha512").update(bytes).digest("base64"),
      contentType,
      minisign: signForTauri(bytes, `file:${fileName}\tversion:${version}`),
      edSignature: signForSparkle(bytes),
    };
  };
  const id = `${product}-${platform}-${architecture}-${version}`;
  const entry = { id, platform, product, architecture, ...release, sample: true };
  if (platform === "windows") {
    const program = await writeArtifact("exe", dosInstaller(app), "application/x-msdownload");
    return { ...entry, artifacts: { installer: program, update: program } };
  }
  const installer = await writeArtifact("tar.gz", macAppTarball(app), "application/gzip");
  const update = await writeArtifact("zip", macAppZip(app), "application/zip");
  return { ...entry, artifacts: { installer, update } };
}
