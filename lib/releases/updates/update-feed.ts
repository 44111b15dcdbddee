import { createHash } from "node:crypto";
import type { SemVer } from "semver";
import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { DocumentContent } from "../../platform/response-content";
import type { Adoption } from "../adoption/adoption";
import { toUpdateCheck } from "../adoption/day-counts";
import type { Snapshot } from "../catalog/snapshot";
import type { UpdateQuery } from "../http-schema";
import type { Platform } from "../platforms";
import type { Release } from "../schema";
import { type InstalledVersion, NOT_A_VERSION, parseInstalledVersion } from "../selection/installed-version";

/** What a client requests below `/api/updates/{product}/{channel}/`. */
export type UpdateRequest = {
  deps: { config: Pick<Config, "baseUrl">; adoption: Pick<Adoption, "recordUpdateCheck"> };
  snapshot: Snapshot;
  /** Both are known to the catalog. */
  product: string;
  channel: string;
  /** Decides on rollouts. */
  clientId: string | undefined;
  current: SemVer | undefined;
  /** Its four numbers, if it has them: see `InstalledVersion`. */
  numbers?: string | null;
  query: UpdateQuery;
  userAgent: string | null;
  /** The client's network, which stands for its id if it sends none. */
  network: () => string;
};

/** A document that an updater requests by a fixed name. */
export type UpdateFeed = {
  /** Matches the path below the channel. Its named groups are the `names`. */
  pattern: RegExp;
  /** Returns null if there is no release, or if the name means nothing in this catalog. */
  resolve: (request: UpdateRequest, names: Partial<Record<string, string>>) => DocumentContent | null;
};

/** The error if no release has a file that the updater can install. */
export function missingRelease(requirements: string | undefined): AppError {
  return new AppError("release_not_found", requirements === undefined ? {} : { detail: requirements });
}

/** 204 No Content: no release is newer than the client's. It must not outlive the next release in a cache. */
export function noUpdate(contentType: string): DocumentContent {
  return { text: null, contentType, etag: "", sizeBytes: 0, caching: "per-client" };
}

/** Parses the installed version in a path. @throws AppError invalid_query */
export function installedVersionOf(text: string): InstalledVersion {
  const installed = parseInstalledVersion(text);
  if (installed) return installed;
  throw new AppError("invalid_query", { detail: `The installed version in the path: ${NOT_A_VERSION}.` });
}

/** A rendered feed. `isClientSpecific`: another client could get another one. */
export type RenderedFeed = { text: string; contentType: string; isClientSpecific: boolean };

export function toDocument({ text, contentType, isClientSpecific }: RenderedFeed): DocumentContent {
  const bytes = Buffer.from(text);
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const caching = isClientSpecific ? "per-client" : "shared";
  return { text, contentType, etag, sizeBytes: bytes.length, caching };
}

/** Counts a client's update check, which found this release. `architecture` null: the request does not include it. */
export function recordCheck(
  { deps, product, channel, current, clientId, network }: UpdateRequest,
  target: { platform: Platform; architecture: string | null; channel?: string },
  release: Release,
): void {
  const asked = { product, channel, ...target, architecture: target.architecture ?? "unknown" };
  deps.adoption.recordUpdateCheck(toUpdateCheck(asked, release, current), clientId ?? network());
}
