import { parse } from "semver";
import { trustedRoots } from "../../../lib/platform/config/sigstore";
import type { ReleaseDocument } from "../../../lib/releases/publishing/list";
import { fetchBytes, findProblem, type VerifyResult } from "../../../lib/releases/publishing/verify";
import { type ServedFile, servedFiles } from "../../../lib/releases/release-files";
import { ArtifactKind, type Release } from "../../../lib/releases/schema";
import { storedFileUrls } from "../../../lib/releases/updates/stored-files";
import { UsageError } from "../../command-line";
import { drawProgress } from "../terminal";
import type { AdminApi } from "../transport/admin-api";

/**
 * Lets the service hash its files again; with `shouldVerifyRemote` also those in object storage, and here those at URLs. Of a
 * service that `isElsewhere`, downloads every file as clients do.
 */
export async function* verifyReleases(
  api: AdminApi,
  list: () => Promise<readonly ReleaseDocument[]>,
  { shouldVerifyRemote, isElsewhere }: { shouldVerifyRemote: boolean; isElsewhere: boolean },
): AsyncGenerator<VerifyResult> {
  for (const release of (await list()).filter(({ yanked }) => !yanked)) {
    if (isElsewhere) {
      yield* verifyDownloads(release, storedFileUrls(""), api.client.url);
      continue;
    }
    const body = { releaseId: release.id, isStorageIncluded: shouldVerifyRemote };
    const { files } = await api.call("verifyRelease", { body });
    for (const file of files) yield { id: release.id, ...file };
    if (shouldVerifyRemote) yield* verifyDownloads(release, (_, { url }) => url);
  }
}

/** Downloads each file that has a location, and compares it with the catalog. */
async function* verifyDownloads(
  document: ReleaseDocument,
  locationOf: (release: Release, file: ServedFile) => string | undefined,
  baseUrl = "",
): AsyncGenerator<VerifyResult> {
  const { id, artifacts } = document;
  const release = { ...document, version: parse(document.version) } as unknown as Release;
  const files = servedFiles(release);
  const hasAttestation = files.some(({ attests }) => attests !== undefined);
  const roots = hasAttestation ? readTrustedRoots() : undefined;
  const verified = new Set<string>();
  for (const file of files) {
    const location = locationOf(release, file);
    if (location === undefined || verified.has(location)) continue;
    verified.add(location);
    const kinds = ArtifactKind.options.filter((kind) => artifacts[kind]?.sha256 === file.sha256);
    const open = async () => fetchBytes(`${baseUrl}${location}`);
    yield { id, kinds, location, problem: await findProblem(open, file, roots, drawProgress) };
  }
}

/** Of `SIGSTORE_TRUSTED_ROOT`; undefined: those that come with Homeport. @throws UsageError */
function readTrustedRoots() {
  const { SIGSTORE_TRUSTED_ROOT: file } = process.env;
  const { error, data } = trustedRoots.optional().safeParse(file?.trim() || undefined);
  if (error) throw new UsageError(`SIGSTORE_TRUSTED_ROOT: ${error.issues[0]?.message}`);
  return data;
}
