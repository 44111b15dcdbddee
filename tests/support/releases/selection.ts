import type { Snapshot } from "@/lib/releases/catalog/snapshot";
import { formatVersion } from "@/lib/releases/schema";
import type { ReleaseSelector } from "@/lib/releases/selection/parse-query";
import { selectPrimaryArtifact, selectRelease } from "@/lib/releases/selection/select-release";
import { snapshotOf } from "@/tests/support/releases/entries";

export const WINDOWS: ReleaseSelector = {
  platform: "windows",
  product: "core",
  architecture: "x64",
  channel: "stable",
};

export const MACOS: ReleaseSelector = { platform: "macos", product: "core", architecture: "arm64", channel: "stable" };

export const select = (
  ...[snapshot, wanted, take = selectPrimaryArtifact, caller]: Partial<Parameters<typeof selectRelease>>
) => selectRelease(snapshot ?? snapshotOf({}), wanted ?? WINDOWS, take, caller).release;

export const selected = (snapshot: Snapshot, wanted: ReleaseSelector, caller?: Parameters<typeof selectRelease>[3]) => {
  const release = select(snapshot, wanted, selectPrimaryArtifact, caller);
  return release && `${release.architecture} ${formatVersion(release.version)}`;
};
