import type { ReleaseDocument } from "../../../../../lib/admin/releases/list";
import { fetchBytes, findDifference, type VerifyResult } from "../../../../../lib/admin/releases/verify";
import { ArtifactKind } from "../../../../../lib/releases/schema";
import { drawProgress } from "../../progress";
import type { HttpClient } from "./http-client";

/** Downloads what clients download, and compares it with the catalog: the installer and the update of each release. */
export async function* verifyDownloads(
  client: HttpClient,
  list: () => Promise<readonly ReleaseDocument[]>,
): AsyncGenerator<VerifyResult> {
  for (const release of (await list()).filter(({ yanked }) => !yanked)) {
    const verified = new Set<string>();
    for (const kind of ArtifactKind.options) {
      const artifact = release.artifacts[kind];
      if (!artifact || verified.has(artifact.sha256)) continue;
      verified.add(artifact.sha256);
      const kinds = ArtifactKind.options.filter((other) => release.artifacts[other]?.sha256 === artifact.sha256);
      const path = downloadPath(release, kind);
      const open = async () => fetchBytes(`${client.url}${path}`);
      yield { id: release.id, kinds, location: path, problem: await findDifference(open, artifact, drawProgress) };
    }
  }
}

function downloadPath({ platform, product, architecture, channel, version }: ReleaseDocument, kind: string): string {
  return `/api/download/${platform}?${new URLSearchParams({ product, architecture, channel, version, kind })}`;
}
