import type { SemVer } from "semver";
import { Kind, type Platform, type Release } from "../schema";
import type { ArtifactSelector, SelectedArtifact } from "../selection/selection";
import type { SupportPolicy } from "../selection/support-policy";

/** What a feed is written from. */
export type FeedInput = {
  release: Release;
  selected: SelectedArtifact;
  baseUrl: string;
  /** null: nobody said which version is installed. */
  updateAvailable: boolean | null;
  mandatory: boolean | null;
  /** For updaters that go back: the installed version where nothing else may be named, older or withheld. */
  heldVersion: SemVer | null;
  /** The release is a sample and the installed version is none: an updater must not hear of it. */
  isWithheld: boolean;
  requestedArchitecture: string;
  /** See `supportUpTo`. */
  supportPolicyOf: (release: Release) => SupportPolicy;
  /** See `forOlderSystems`. */
  findReleasesForOlderSystems: () => Release[];
};

/** What one kind of updater reads. */
export type Feed = {
  name: string;
  selectArtifact: ArtifactSelector;
  /** For somebody for whom no release will do: what this updater needs. */
  requirements?: string;
  /** Whether the updater itself refuses a release that its system is too old for. Without this it does. */
  comparesSystemVersion?: (release: Release) => boolean;
  /** Without these the updater exists on every platform. */
  platforms?: readonly Platform[];
  /** The updater installs whatever it is told of, so the installed version has to be known. */
  requiresCurrentVersion?: true;
  /** The updater goes back to whatever older version it is told of, so one that is ahead hears its own. */
  canDowngrade?: true;
  contentType: string;
  /** The body; null is 204 No Content: the updater is not told of any release. */
  render: (news: FeedInput) => string | null;
};

/** Takes the artifact that an updater can read by its file's name: the update, else the installer. */
export function selectByFileName(
  accepted: Partial<Record<Platform, RegExp>>,
  isSigned: SignatureTest = () => true,
): ArtifactSelector {
  return ({ platform, artifacts }) => {
    for (const kind of Kind.options.toReversed()) {
      const artifact = artifacts[kind];
      if (artifact && accepted[platform]?.test(artifact.fileName) && isSigned(artifact)) return { kind, artifact };
    }
    return undefined;
  };
}

type SignatureTest = (artifact: SelectedArtifact["artifact"]) => boolean;
