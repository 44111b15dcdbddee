import { AppError } from "../../../errors";
import { fieldMessage } from "../../../platform/field-message";
import { formatVersion, Release } from "../../schema";
import type { ManifestEntry } from "./manifest-file";

/** Parses an entry of a manifest. @throws AppError that names the fields that the service would reject */
export function parseRelease(entry: ManifestEntry): Release {
  const parsed = Release.safeParse(entry, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `  - ${path.join(".")}: ${message}`);
  throw new AppError("release_invalid", `The release is not valid:\n${issues.join("\n")}`);
}

/** What identifies a release: no two releases of a catalog have the same. */
export function identityOf({ product, platform, architecture, channel, version }: Release) {
  return { product, platform, architecture, channel, version: formatVersion(version) };
}

/** Makes an id that no other release has. @throws AppError if the names are too long for one */
export function makeReleaseId(releases: readonly Release[], release: Release): string {
  const { product, platform, architecture, channel, version } = identityOf(release);
  const plain = `${product}-${platform}-${architecture}-${version}`;
  const isFree = (id: string) => id.length <= 128 && releases.every((other) => other.id !== id);
  const id = [plain, `${plain}-${channel}`].find(isFree);
  if (id === undefined)
    throw new AppError("release_invalid", "No id can be generated for this release: set one with --id.");
  return id;
}
