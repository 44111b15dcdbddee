import { compareBuild } from "semver";
import { ArtifactKind, formatVersion, type Release } from "../../releases/schema";

/** Sorts by product, platform and architecture, newest first. */
function sortReleases(releases: readonly Release[]): Release[] {
  const targetOf = ({ product, platform, architecture }: Release) => `${product} ${platform} ${architecture}`;
  return releases.toSorted(
    (a, b) => targetOf(a).localeCompare(targetOf(b)) || compareBuild(b.version, a.version) || a.id.localeCompare(b.id),
  );
}

/** Renders releases as a text table. */
export function renderTable(releases: readonly Release[]): string {
  const heading = ["PRODUCT", "PLATFORM", "ARCH", "VERSION", "CHANNEL", "STATE", "KINDS", "RELEASED", "ID"];
  const rows = sortReleases(releases).map((release) => [
    release.product,
    release.platform,
    release.architecture,
    formatVersion(release.version),
    release.channel,
    stateOf(release),
    ArtifactKind.options.filter((kind) => release.artifacts[kind]).join("+"),
    release.releasedAt.toISOString().slice(0, 10),
    release.id,
  ]);
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Renders releases as JSON. */
export function renderJson(releases: readonly Release[]): string {
  const plain = sortReleases(releases).map((release) => ({
    ...release,
    version: formatVersion(release.version),
    minimumSupportedVersion: release.minimumSupportedVersion && formatVersion(release.minimumSupportedVersion),
  }));
  return JSON.stringify(plain, null, 2);
}

function stateOf({ yanked, rollout, rollback, critical, sample }: Release): string {
  if (yanked) return "yanked";
  if (sample) return "sample";
  const reach = rollout === 100 ? "everyone" : rollout === 0 ? "paused" : `${rollout} %`;
  return [reach, rollback && "rollback", critical && "critical"].filter(Boolean).join(", ");
}
