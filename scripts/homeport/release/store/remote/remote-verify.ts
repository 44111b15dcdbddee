import { parse } from "semver";
import type { ReleaseDocument } from "../../../../../lib/admin/releases/list";
import { fetchBytes, findDifference, type VerifyResult } from "../../../../../lib/admin/releases/verify";
import { servedFiles } from "../../../../../lib/releases/release-files";
import { ArtifactKind, type Release } from "../../../../../lib/releases/schema";
import { storedFilePath } from "../../../../../lib/releases/updates/stored-files";
import { drawProgress } from "../../../output/progress";
import type { HttpClient } from "../../../transport/http-client";

/** Downloads what clients download, and compares it with the catalog: every file of each release, block maps included. */
export async function* verifyDownloads(
  client: HttpClient,
  list: () => Promise<readonly ReleaseDocument[]>,
): AsyncGenerator<VerifyResult> {
  for (const document of (await list()).filter(({ yanked }) => !yanked)) {
    const { id, product, channel, artifacts } = document;
    const release = { ...document, version: parse(document.version) } as unknown as Release;
    const verified = new Set<string>();
    for (const file of servedFiles(release)) {
      if (verified.has(file.sha256)) continue;
      verified.add(file.sha256);
      const kinds = ArtifactKind.options.filter((kind) => artifacts[kind]?.sha256 === file.sha256);
      const location = `/api/updates/${product}/${channel}/${storedFilePath(release, file)}`;
      const open = async () => fetchBytes(`${client.url}${location}`);
      yield { id, kinds, location, problem: await findDifference(open, file, drawProgress) };
    }
  }
}
