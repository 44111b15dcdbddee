import path from "node:path";
import { AppError } from "../../errors";
import { parsePlatform } from "../platforms";
import type { Artifact, FileKind } from "../schema";
import { BLOCK_MAP_EXTENSION, findBlockMap, type NewBlockMap } from "./files/block-map";
import { type Digest, digestFile, type OnProgress } from "./files/build-file";
import { readPackageFacts } from "./files/package-facts";
import { invalidRelease } from "./invalid-release";
import type { ManifestEntry } from "./manifest-file";
import type { NewReleases } from "./schema";

type NewRelease = NewReleases["releases"][number];
type NewFile = NewRelease["files"][number];

/** Where a file is served from: the catalog's folder, the object storage, or a URL that already has it. */
export type Destination = NonNullable<NewFile["destination"]>;

/** A file of a draft. `fileName` defaults to the file's own name, `destination` to the catalog's folder. */
export type DraftFile = Omit<NewFile, "uploadId" | "blockMapUploadId" | "attestationUploadId" | "kinds"> & {
  file: string;
  /** Nobody else writes to the file, and it is deleted after it was published: it needs no copy. */
  isTemporary?: true;
  kinds: readonly FileKind[];
  /** The path of the block map; by default the one beside the file, if electron-updater downloads files like it. */
  blockMapFile?: string | undefined;
  /** The path of a file with the Sigstore bundle that states its provenance. */
  attestationFile?: string | undefined;
};

/** A release to publish: the manifest's fields, unvalidated, and its files. */
export type ReleaseDraft = Omit<NewRelease, "release" | "files"> & {
  release: ManifestEntry & { id?: string | undefined };
  files: readonly DraftFile[];
};

export type ArtifactEntry = Partial<Artifact> & Pick<Artifact, "fileName" | "sizeBytes" | "sha256" | "sha512">;

export type HashedFile = Pick<DraftFile, "file" | "isTemporary" | "kinds" | "from" | "attestationFile"> & {
  destination: Destination;
  artifact: ArtifactEntry;
  /** To store where `artifact.blockMap` says. */
  blockMap: NewBlockMap | null;
  /** To store where `artifact.attestation` says. */
  attestation?: Uint8Array;
};

export type HashedDraft = Omit<ReleaseDraft, "files"> & { files: readonly HashedFile[] };

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".appimage": "application/vnd.appimage",
  ".appx": "application/appx",
  ".appxbundle": "application/appxbundle",
  ".deb": "application/vnd.debian.binary-package",
  ".dmg": "application/x-apple-diskimage",
  ".exe": "application/x-msdownload",
  ".gz": "application/gzip",
  ".msi": "application/x-msi",
  ".msix": "application/msix",
  ".msixbundle": "application/msixbundle",
  ".rpm": "application/x-rpm",
  ".zip": "application/zip",
};

const MAX_FILE_NAME_BYTES = 255;

/** Hashes a draft's files. @throws AppError if one is not a regular file, is empty or has no valid name */
export async function hashDraft(draft: ReleaseDraft, onProgress?: OnProgress): Promise<HashedDraft> {
  const platform = parsePlatform(String(draft.release.platform)) ?? draft.release.platform;
  const files: HashedFile[] = [];
  for (const file of draft.files) files.push(await hashFile(file, onProgress));
  return { ...draft, release: { ...draft.release, platform }, files };
}

/** Refuses what file systems do not accept, and direction marks, which show `exe.txt` for a name in `txt.exe`. */
function assertFileName(name: string): void {
  if (/\p{Bidi_Control}/u.test(name)) {
    const shown = name.replaceAll(/\p{Bidi_Control}/gu, "\ufffd");
    throw invalidRelease(
      `"${shown}" cannot be the name of a file: it has characters that change the direction of text.`,
    );
  }
  if (name !== "." && name !== ".." && Buffer.byteLength(name) <= MAX_FILE_NAME_BYTES) return;
  throw invalidRelease(`"${name}" cannot be the name of a file.`);
}

async function hashFile(draft: DraftFile, onProgress?: OnProgress): Promise<HashedFile> {
  const { file, isTemporary, kinds, from, artifact, destination = { kind: "folder" }, expected } = draft;
  const { attestationFile } = draft;
  const digest = await digestFile(file, onProgress);
  assertExpected(file, digest, expected);
  const fileName = artifact?.fileName ?? path.basename(file);
  assertFileName(fileName);
  const contentType = artifact?.contentType ?? CONTENT_TYPES[path.extname(fileName).toLowerCase()];
  const facts = await readPackageFacts(file, fileName);
  const blockMap = await findBlockMap({ ...draft, ...digest, fileName }, onProgress);
  const signatures = { minisign: artifact?.minisign, edSignature: artifact?.edSignature };
  const name = `${digest.sha256.slice(0, 16)}/${fileName}`; // named by content: other bytes never overwrite it
  const described = { ...locationOf(destination, name), ...signatures, ...digest, ...facts, fileName, contentType };
  const entry = blockMap ? blockMapEntry(blockMap, destination, path.posix.dirname(name)) : undefined;
  const hashed = { ...described, blockMap: entry };
  return { file, isTemporary, kinds, from, destination, artifact: hashed, blockMap, attestationFile };
}

export function locationOf(
  destination: Destination,
  name: string,
): { url: string } | { s3Key: string } | { file: string } {
  if (destination.kind === "url") return { url: destination.url };
  return destination.kind === "storage" ? { s3Key: name } : { file: name };
}

/** A file at a URL has its block map beside it. */
function blockMapEntry({ sizeBytes, sha256 }: NewBlockMap, destination: Destination, folder: string) {
  if (destination.kind !== "url") {
    return { ...locationOf(destination, `${folder}/${sha256.slice(0, 16)}${BLOCK_MAP_EXTENSION}`), sizeBytes, sha256 };
  }
  return { url: destination.url.replace(/(?=[?#]|$)/, BLOCK_MAP_EXTENSION), sizeBytes, sha256 };
}

function assertExpected(file: string, digest: Digest, expected: DraftFile["expected"] = {}): void {
  const { by = "the request" } = expected;
  const different = (["sizeBytes", "sha256", "sha512"] as const).filter(
    (name) => expected[name] !== undefined && expected[name] !== digest[name],
  );
  if (different.length === 0) return;
  throw new AppError("file_changed", `${file} is not the file that ${by} describes: ${different.join(", ")} differ.`);
}
