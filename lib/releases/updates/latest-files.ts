import { AppError } from "../../errors";
import type { Snapshot } from "../catalog/snapshot";
import { selectForPeople } from "../download";
import { normalizeArchitecture, parsePlatform } from "../platforms";
import type { Artifact, Release } from "../schema";
import { fileTypeOf, selectByFileType } from "../selection/file-types";
import { selectRelease } from "../selection/select-release";
import type { FoundFile } from "./stored-files";

/** The folder of links that stay the same: `latest/windows-x64.exe` is the newest installer. */
export const LATEST = "latest";

/** The name of a file as the newest one; null for a file that people do not install. */
export function latestName({ platform, architecture }: Release, file: Pick<Artifact, "fileName">): string | null {
  const [ending] = /\.(tar\.)?\w+$/.exec(file.fileName) ?? [];
  return ending === undefined || fileTypeOf(file) === null ? null : `${platform}-${architecture}${ending}`;
}

/** The newest file of its platform, architecture and type: `macos-universal.dmg`. @throws AppError release_not_found */
export function findLatestFile(
  snapshot: Snapshot,
  { product, channel }: { product: string; channel: string },
  name: string,
  clientId: string | undefined,
): FoundFile {
  const [, system = "", architecture = "", ending = ""] = /^(\w+?)-([^.]+)(\..+)$/.exec(name) ?? [];
  const platform = parsePlatform(system);
  const type = fileTypeOf({ fileName: ending });
  if (!platform || !type) throw new AppError("release_not_found");
  const selector = { platform, product, channel, architecture: normalizeArchitecture(architecture) };
  const select = selectByFileType(selectForPeople, type);
  const { release, isClientSpecific } = selectRelease(snapshot, selector, select, { clientId });
  const artifact = release && select(release);
  if (!artifact) throw new AppError("release_not_found");
  return { release, artifact, caching: release.sample ? "never" : isClientSpecific ? "per-client" : "shared" };
}
