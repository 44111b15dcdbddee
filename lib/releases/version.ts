import { createHash } from "node:crypto";
import type { SemVer } from "semver";
import type { Context } from "../context";
import { AppError } from "../errors";
import type { Snapshot } from "./catalog/snapshot";
import { type Conditions, matchesEtag } from "./conditions";
import type { Answer } from "./exchange";
import type { Feed } from "./feeds/feed";
import { findFeed } from "./feeds/formats";
import { formatVersion, type Release, ServiceVersion, type VersionQuery } from "./schema";
import { isReleaseQuery, parseReleaseSelector, type ReleaseSelector } from "./selection/release-selector";
import { findReleasesForOlderSystems, findVersion, selectRelease } from "./selection/selection";
import { evaluateUpdate, supportPolicyOf } from "./selection/support-policy";
import { type SystemFilter, systemFilter } from "./selection/system-filter";

type Build = Context["config"]["build"];
type Deps = Pick<Context, "catalog"> & { config: Pick<Context["config"], "baseUrl" | "build"> };
/** `text` null: 204 No Content. */
type Body = { text: string | null; etag: string; lengthBytes: number };

const PUBLIC = "public, max-age=60, stale-while-revalidate=300";
/** For answers that depend on who asks, and for "nothing new", which must not outlive the next release. */
const PRIVATE = "private, no-cache";
const MOST_BODIES = 1_000;

/** Bodies made so far, by what they tell of and how: a new catalog has new releases, and so starts afresh. */
const bodies = new WeakMap<Release | Build, Map<string, Body>>();

/**
 * The service's own version, or the newest release of what the query selects, as the feed that `format` names;
 * with a strong ETag. `clientId` decides on releases that are being rolled out.
 * @throws AppError invalid_query, release_not_found, catalog_unavailable
 */
export function resolveVersion(deps: Deps, query: VersionQuery, conditions: Conditions, clientId?: string): Answer {
  const current = callersVersion(query);
  if (!isReleaseQuery(query)) return answer(serviceBody(deps.config.build), "application/json", PUBLIC, conditions);
  const feed = findFeed(query.format);
  const snapshot = deps.catalog.current();
  const wanted = parseReleaseSelector(query, snapshot);
  if (!snapshot) throw new AppError("catalog_unavailable");
  requireFit(feed, wanted, current);
  const { comparesSystemVersion: comparesSystem = () => true } = feed;
  const system = systemFilter(snapshot, wanted, { systemVersion: query.systemVersion, current, comparesSystem });
  const { release, isClientSpecific: isPersonal } = selectRelease(snapshot, wanted, feed.selectArtifact, {
    clientId,
    current,
    system,
  });
  if (!release) throw new AppError("release_not_found", feed.requirements ? { detail: feed.requirements } : {});
  const body = releaseBody({ feed, snapshot, wanted, release, current, system, baseUrl: deps.config.baseUrl });
  return answer(body, feed.contentType, isPersonal || body.text === null ? PRIVATE : PUBLIC, conditions);
}

function callersVersion({ current, version }: VersionQuery): SemVer | undefined {
  if (current && version) {
    const detail = "Is another name for current: give one of them";
    throw new AppError("invalid_query", { errors: [{ pointer: "?version", code: "repeated", detail }] });
  }
  return current ?? version;
}

function requireFit(
  { platforms, requiresCurrentVersion: needsCurrent }: Feed,
  wanted: ReleaseSelector,
  current: SemVer | undefined,
): void {
  if (platforms && !platforms.includes(wanted.platform)) {
    const detail = `Must be ${platforms.join(" or ")} with this format`;
    const errors = [{ pointer: "?platform", code: "invalid_value", detail }];
    throw new AppError("invalid_query", { errors, members: { allowed: { platform: platforms } } });
  }
  if (needsCurrent && !current) {
    const detail = "Is needed with this format, whose updater does not compare versions";
    const errors = [{ pointer: "?current", code: "required", detail }];
    throw new AppError("invalid_query", { errors, members: { missing: ["current"] } });
  }
}

function serviceBody(build: Build): Body {
  return remember(build, "", () => {
    const { name, version, commit, builtAt } = build;
    const told = { kind: "service", name, version, apiVersion: "1", commit, builtAt };
    return JSON.stringify(ServiceVersion.parse(told));
  });
}

type BodyInput = {
  feed: Feed;
  snapshot: Snapshot;
  wanted: ReleaseSelector;
  release: Release;
  current: SemVer | undefined;
  system: SystemFilter;
  baseUrl: string;
};

const UNKNOWN = { updateAvailable: null, mandatory: null };
const NO_UPDATE = { updateAvailable: false, mandatory: false };

/** Few differ: the callers' versions come in by the judgement of them, and as they are only where they are echoed. */
function releaseBody({ feed, snapshot, wanted, release, current, system, baseUrl }: BodyInput): Body {
  const supportOf = (one: Release) => supportPolicyOf(snapshot, wanted, one);
  const isWithheld = release.sample && current !== undefined && !findVersion(snapshot, wanted, current);
  const judged = isWithheld ? NO_UPDATE : current ? evaluateUpdate(release, current, supportOf(release)) : UNKNOWN;
  const isAhead = current && !judged.updateAvailable && release.version.compare(current) < 0;
  const ahead = feed.canDowngrade && current && (isAhead || isWithheld) ? current : null;
  const { architecture: requestedArchitecture, channel } = wanted;
  const asked = `${feed.name} ${requestedArchitecture} ${channel} ${judged.updateAvailable} ${judged.mandatory}`;
  const key = `${asked} ${isWithheld} ${system.key} ${ahead ? formatVersion(ahead) : ""} ${baseUrl}`;
  return remember(release, key, () => {
    const selected = feed.selectArtifact(release);
    if (!selected) throw new AppError("release_not_found");
    const older = () => findReleasesForOlderSystems(snapshot, wanted, feed.selectArtifact, release, system);
    const about = { release, selected, baseUrl, heldVersion: ahead, isWithheld, requestedArchitecture };
    return feed.render({ ...judged, ...about, supportPolicyOf: supportOf, findReleasesForOlderSystems: older });
  });
}

function remember(about: Release | Build, key: string, make: () => string | null): Body {
  const made = bodies.get(about) ?? new Map<string, Body>();
  bodies.set(about, made);
  const known = made.get(key);
  if (known) return known;
  const text = make();
  const bytes = Buffer.from(text ?? "");
  const body = { text, etag: `"${createHash("sha256").update(bytes).digest("base64url")}"`, lengthBytes: bytes.length };
  if (made.size >= MOST_BODIES) made.clear();
  made.set(key, body);
  return body;
}

function answer(body: Body, contentType: string, cacheControl: string, { ifNoneMatch }: Conditions): Answer {
  const { text, etag, lengthBytes } = body;
  if (text === null) return { status: 204, headers: { "Cache-Control": cacheControl }, body: null };
  const headers = { ETag: etag, "Cache-Control": cacheControl };
  if (ifNoneMatch !== null && matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: null };
  return {
    status: 200,
    headers: { "Content-Type": contentType, "Content-Length": String(lengthBytes), ...headers },
    body: text,
  };
}
