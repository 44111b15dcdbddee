import { parse } from "semver";
import type { ReleaseDocument } from "../../../lib/releases/publishing/list";
import { fetchBytes, findDifference, type VerifyResult } from "../../../lib/releases/publishing/verify";
import { servedFiles } from "../../../lib/releases/release-files";
import { ArtifactKind, type Release } from "../../../lib/releases/schema";
import { storedFileUrls } from "../../../lib/releases/updates/stored-files";
import { drawProgress } from "../terminal";
import type { AdminApi } from "../transport/admin-api";

/** Downloads what clients download, and compares it with the catalog: every file of each release, block maps included. */
export async function* verifyDownloads(
  { client }: AdminApi,
  list: () => Promise<readonly ReleaseDocument[]>,
): AsyncGenerator<VerifyResult> {
  const pathOf = storedFileUrls("");
  for (const document of (await list()).filter(({ yanked }) => !yanked)) {
    const { id, artifacts } = document;
    const release = { ...document, version: parse(document.version) } as unknown as Release;
    const verified = new Set<string>();
    for (const file of servedFiles(release)) {
      if (verified.has(file.sha256)) continue;
      verified.add(file.sha256);
      const kinds = ArtifactKind.options.filter((kind) => artifacts[kind]?.sha256 === file.sha256);
      const location = pathOf(release, file);
      const open = async () => fetchBytes(`${client.url}${location}`);
      yield { id, kinds, location, problem: await findDifference(open, file, drawProgress) };
    }
  }
}

/** Lets the service hash its files again. With `shouldVerifyRemote` also those in object storage, and here those at URLs. */
export async function* verifyFiles(
  api: AdminApi,
  list: () => Promise<readonly ReleaseDocument[]>,
  { shouldVerifyRemote }: { shouldVerifyRemote: boolean },
): AsyncGenerator<VerifyResult> {
  for (const document of (await list()).filter(({ yanked }) => !yanked)) {
    const { id } = document;
    const body = { releaseId: id, isStorageIncluded: shouldVerifyRemote };
    const { files } = await api.call("verifyRelease", { body });
    for (const file of files) yield { id, ...file };
    if (shouldVerifyRemote) yield* verifyUrls(document);
  }
}

async function* verifyUrls({ id, artifacts, version, ...fields }: ReleaseDocument): AsyncGenerator<VerifyResult> {
  const release = { ...fields, id, artifacts, version: parse(version) } as unknown as Release;
  for (const file of servedFiles(release)) {
    const { url } = file;
    if (url === undefined) continue;
    const kinds = ArtifactKind.options.filter((kind) => artifacts[kind]?.sha256 === file.sha256);
    yield { id, kinds, location: url, problem: await findDifference(async () => fetchBytes(url), file, drawProgress) };
  }
}
