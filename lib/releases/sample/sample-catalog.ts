import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import path from "node:path";
import { makeFolder, writeDurably } from "../../files/durable";
import { appTarball, appZip, dosProgram } from "./sample-installers";
import { SAMPLE_PUBLIC_KEY, signForSparkle, signForTauri } from "./sample-signatures";

const PRODUCTS = { core: "Core", ops: "Ops" } as const;

/** What the sample releases, oldest first. */
const VERSIONS = [
  { version: "1.0.0", channel: "stable", releasedAt: "2026-09-01T09:00:00Z", notes: "The first release." },
  { version: "1.1.0", channel: "stable", releasedAt: "2026-11-03T09:00:00Z", notes: "Starts faster." },
  { version: "1.2.0-beta.1", channel: "beta", releasedAt: "2026-11-17T09:00:00Z", notes: "A look ahead." },
] as const;

/** The public half of the key that signed the samples, beside them. */
export const SAMPLE_KEY_FILE = "sample.pub";

type Product = keyof typeof PRODUCTS;

/**
 * Lays a catalog with small real files down, signed for every updater, unless `manifest` exists. The files come
 * first and the manifest last, each whole or not at all: after a kill half-way the next start does it again.
 * Returns whether it did.
 */
export async function writeSampleCatalog(manifest: string): Promise<boolean> {
  if (await exists(manifest)) return false;
  const folder = path.dirname(manifest);
  await makeFolder(folder);
  const releases = [];
  for (const product of Object.keys(PRODUCTS) as Product[]) {
    for (const release of VERSIONS.filter(({ channel }) => channel === "stable" || product === "core")) {
      releases.push(await addRelease(folder, "windows", product, release));
      releases.push(await addRelease(folder, "macos", product, release));
    }
  }
  await writeDurably(path.join(folder, SAMPLE_KEY_FILE), Buffer.from(SAMPLE_PUBLIC_KEY));
  await writeDurably(manifest, Buffer.from(`${JSON.stringify({ schemaVersion: 1, releases }, null, 2)}\n`));
  return true;
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

async function addRelease(
  folder: string,
  platform: "windows" | "macos",
  product: Product,
  release: (typeof VERSIONS)[number],
) {
  const { version } = release;
  const sample = { title: `Homeport ${PRODUCTS[product]}`, product, version };
  const architecture = platform === "windows" ? "x64" : "universal";
  const add = async (extension: string, bytes: Buffer, contentType: string) => {
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
  const members = { id, platform, product, architecture, ...release, sample: true };
  if (platform === "windows") {
    const program = await add("exe", dosProgram(sample), "application/x-msdownload");
    return { ...members, artifacts: { installer: program, update: program } };
  }
  const installer = await add("tar.gz", appTarball(sample), "application/gzip");
  const update = await add("zip", appZip(sample), "application/zip");
  return { ...members, artifacts: { installer, update } };
}
