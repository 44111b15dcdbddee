import { compareBuild } from "semver";
import { ArtifactKind, formatVersion, type Release } from "../schema";
import type { Admission } from "./schema";

/** A release as JSON has it: the manifest's fields with all defaults. */
export type ReleaseDocument = ReturnType<typeof toDocument> & { admission?: Admission };

type AdmissionOf = (release: Release) => Admission | null;

function toDocument({ artifacts, ...release }: Release) {
  const { version, minimumSupportedVersion, requiresFrom, releasedAt } = release;
  return {
    ...release,
    version: formatVersion(version),
    minimumSupportedVersion: minimumSupportedVersion && formatVersion(minimumSupportedVersion),
    requiresFrom: requiresFrom && formatVersion(requiresFrom),
    releasedAt: releasedAt.toISOString(),
    artifacts: {
      ...artifacts,
      deltas: artifacts.deltas.map((delta) => ({ ...delta, from: formatVersion(delta.from) })),
    },
  };
}

/** Lists releases by product, platform and architecture, newest first; with what the policies say, if they are given. */
export function listReleases(releases: readonly Release[], admissionOf: AdmissionOf = () => null): ReleaseDocument[] {
  const targetOf = ({ product, platform, architecture }: Release) => `${product} ${platform} ${architecture}`;
  return releases
    .toSorted(
      (a, b) =>
        targetOf(a).localeCompare(targetOf(b)) || compareBuild(b.version, a.version) || a.id.localeCompare(b.id),
    )
    .map((release) => {
      const admission = admissionOf(release);
      return { ...toDocument(release), ...(admission && { admission }) };
    });
}

export function renderTable(releases: readonly ReleaseDocument[]): string {
  const heading = ["PRODUCT", "PLATFORM", "ARCH", "VERSION", "CHANNEL", "STATE", "KINDS", "RELEASED", "ID"];
  const rows = releases.map((release) => [
    release.product,
    release.platform,
    release.architecture,
    release.version,
    release.channel,
    stateOf(release),
    kindsOf(release),
    release.releasedAt.slice(0, 10),
    release.id,
  ]);
  return alignColumns([heading, ...rows]);
}

function kindsOf({ artifacts }: ReleaseDocument): string {
  const { others, deltas } = artifacts;
  const kinds: string[] = ArtifactKind.options.filter((kind) => artifacts[kind]);
  if (others.length > 0) kinds.push(others.length === 1 ? "1 other" : `${others.length} others`);
  if (deltas.length > 0) kinds.push(deltas.length === 1 ? "1 delta" : `${deltas.length} deltas`);
  return kinds.join("+");
}

function stateOf({ yanked, rollout, rollback, critical, sample, admission }: ReleaseDocument): string {
  if (yanked) return "yanked";
  if (admission === "pending") return "waits for approval";
  if (admission === "refused") return "not admitted";
  if (sample) return "sample";
  const reach = rollout === 100 ? "everyone" : rollout === 0 ? "paused" : `${rollout}%`;
  return [reach, rollback && "rollback", critical && "critical"].filter(Boolean).join(", ");
}

/** Renders rows as text in aligned columns; the first row is the heading. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const render = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => render(row).trimEnd()).join("\n");
}
