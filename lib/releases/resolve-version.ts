import { createHash } from "node:crypto";
import { AppError } from "../errors";
import type { Config } from "../platform/config";
import type { DocumentContent } from "../platform/response-content";
import type { Adoption } from "./adoption/adoption";
import { toUpdateCheck, type UpdateCheck } from "./adoption/day-counts";
import type { Catalog } from "./catalog/catalog";
import { findBuildVersion, type Snapshot } from "./catalog/snapshot";
import { findFormat } from "./formats/formats";
import type { VersionFormat } from "./formats/version-format";
import { ServiceVersion, type VersionQuery } from "./http-schema";
import { SystemVersion } from "./platforms";
import { formatVersion, type Release } from "./schema";
import { parseBundleType, selectByBundleType } from "./selection/file-types";
import {
  compareWithInstalled,
  type InstalledVersion,
  installedByBuild,
  NOT_A_VERSION,
  parseInstalledVersion,
} from "./selection/installed-version";
import { isReleaseQuery, parseReleaseSelector, type ReleaseSelector } from "./selection/parse-query";
import {
  type ArtifactSelector,
  findReleasesForOlderSystems,
  findVersion,
  selectRelease,
} from "./selection/select-release";
import { evaluateUpdate, supportPolicyOf } from "./selection/support-policy";
import { type SystemFilter, systemFilter, systemOfUserAgent } from "./selection/system-filter";

type Build = Config["build"];
type Deps = {
  adoption: Pick<Adoption, "recordUpdateCheck">;
  catalog: Catalog;
  config: Pick<Config, "SERVICE_VERSION" | "baseUrl" | "build">;
};
/** `network` identifies clients without an id, for the count of distinct clients alone. */
type Client = { clientId: string | undefined; userAgent: string | null; network: () => string };
/** `check` null: no release was asked for. */
type Selected = { content: DocumentContent; check: UpdateCheck | null };
/** `text` null: the client has no update. */
type Body = Pick<DocumentContent, "text" | "etag" | "sizeBytes">;

const MAX_CACHED_BODIES = 1_000;

type Result = Selected & { config: Deps["config"]; clientId: string | undefined; atLeast: string | undefined };
/** The latest result by catalog and query: requests with the same query string share its object; most are the same. */
const latestResults = new WeakMap<Snapshot, WeakMap<VersionQuery, Result>>();

/** Rendered bodies by release and variant. A new catalog has new `Release` objects, so old bodies are collected. */
const cachedBodies = new WeakMap<Release | Build, Map<string, Body>>();

/**
 * The service's version, or the newest release for a query and client. Counts the update check.
 * @throws AppError invalid_query, release_not_found, catalog_unavailable
 */
export function resolveVersion(deps: Deps, query: VersionQuery, client: Client): DocumentContent {
  const { clientId, userAgent, network } = client;
  const { content, check } = selectLatest(deps, query, clientId, systemOfUserAgent(userAgent));
  if (check) deps.adoption.recordUpdateCheck(check, clientId ?? network());
  return content;
}

function selectLatest(
  { catalog, config }: Deps,
  query: VersionQuery,
  clientId: string | undefined,
  atLeast: string | undefined,
): Selected {
  const snapshot = catalog.current();
  if (!snapshot) return selectContent(config, snapshot, query, clientId, atLeast);
  const results = latestResults.get(snapshot) ?? new WeakMap<VersionQuery, Result>();
  const latest = results.get(query);
  if (latest?.config === config && latest.clientId === clientId && latest.atLeast === atLeast) return latest;
  const selected = { ...selectContent(config, snapshot, query, clientId, atLeast), config, clientId, atLeast };
  latestResults.set(snapshot, results.set(query, selected));
  return selected;
}

function selectContent(
  config: Deps["config"],
  snapshot: Snapshot | null,
  query: VersionQuery,
  clientId: string | undefined,
  atLeast: string | undefined,
): Selected {
  if (!isReleaseQuery(query)) {
    readInstalledVersion(query);
    return { content: { ...serviceBody(config), contentType: "application/json", caching: "shared" }, check: null };
  }
  const format = findFormat(query.format);
  const selector = parseReleaseSelector(query, snapshot);
  if (!snapshot) throw new AppError("catalog_unavailable");
  const installed = format.comparesBuildVersions
    ? installedByBuild(snapshot, selector, givenVersion(query)?.text ?? query.appVersion)
    : readInstalledVersion(query);
  assertSupportedQuery(format, selector, query, installed);
  const { comparesSystemVersion = () => true } = format;
  const systemVersion = query.systemVersion ?? SystemVersion.safeParse(query.osVersion).data;
  const current = installed?.version;
  const system = systemFilter(snapshot, selector, { systemVersion, current, atLeast, comparesSystemVersion });
  const selectArtifact =
    query.bundleType === undefined
      ? format.selectArtifact
      : selectByBundleType(format.selectArtifact, parseBundleType(query.bundleType));
  const client = { clientId, current, system };
  const { release, isClientSpecific } = selectRelease(snapshot, selector, selectArtifact, client);
  if (!release) throw new AppError("release_not_found", format.requirements ? { detail: format.requirements } : {});
  const body = releaseBody(
    { format, selectArtifact, snapshot, selector, release, installed, system, baseUrl: config.baseUrl },
    query,
  );
  // "No update" must not outlive the next release in a cache.
  const isPersonal = isClientSpecific || (atLeast !== undefined && systemVersion === undefined);
  const caching = isPersonal || body.text === null ? "per-client" : "shared";
  return {
    content: { ...body, contentType: format.contentType, caching },
    check: toUpdateCheck(selector, release, current),
  };
}

/** With SERVICE_VERSION=off it names the API's version alone (OWASP ASVS 5.0, 13.4.6). */
function serviceBody({ SERVICE_VERSION, build }: Pick<Config, "SERVICE_VERSION" | "build">): Body {
  const shown = SERVICE_VERSION === "on" ? build : { name: build.name, version: "1", commit: null, builtAt: null };
  const render = () => JSON.stringify(ServiceVersion.parse({ ...shown, kind: "service", apiVersion: "1" }));
  return cached(build, SERVICE_VERSION, render);
}

type BodyInput = {
  format: VersionFormat;
  selectArtifact: ArtifactSelector;
  snapshot: Snapshot;
  selector: ReleaseSelector;
  release: Release;
  installed: InstalledVersion | null;
  system: SystemFilter;
  baseUrl: string;
};

const UNKNOWN = { updateAvailable: null, mandatory: null };
const NO_UPDATE = { updateAvailable: false, mandatory: false };

/** The cache key holds what `current` leads to rather than `current` itself, so that few bodies differ. */
function releaseBody(
  { format, selectArtifact, snapshot, selector, release, installed, system, baseUrl }: BodyInput,
  { bundleType = "" }: VersionQuery,
): Body {
  const current = installed?.version;
  const policyOf = (one: Release) => supportPolicyOf(snapshot, selector, one);
  const isHiddenSample = release.sample && current !== undefined && !findVersion(snapshot, selector, current);
  const evaluate = ({ version, numbers }: InstalledVersion) =>
    evaluateUpdate(release, version, policyOf(release), numbers);
  const update = isHiddenSample ? NO_UPDATE : installed ? evaluate(installed) : UNKNOWN;
  const isAhead = installed && !update.updateAvailable && compareWithInstalled(release, installed) < 0;
  const installedVersionToReport = format.canDowngrade && current && (isAhead || isHiddenSample) ? current : null;
  const { architecture: requestedArchitecture, channel } = selector;
  const variant = `${format.name} ${requestedArchitecture} ${channel} ${update.updateAvailable} ${update.mandatory} ${bundleType}`;
  const reported = installedVersionToReport ? formatVersion(installedVersionToReport) : "";
  return cached(release, `${variant} ${isHiddenSample} ${system.key} ${reported} ${baseUrl}`, () => {
    const artifact = selectArtifact(release);
    if (!artifact) throw new AppError("release_not_found");
    return format.render({
      ...update,
      release,
      artifact,
      baseUrl,
      installedVersionToReport,
      isHiddenSample,
      requestedArchitecture,
      supportPolicyOf: policyOf,
      findReleasesForOlderSystems: () =>
        findReleasesForOlderSystems(snapshot, selector, selectArtifact, release, system),
      buildVersionOf: (one, version) => findBuildVersion(snapshot, one, version),
    });
  });
}

function cached(subject: Release | Build, key: string, render: () => string | null): Body {
  const bodies = cachedBodies.get(subject) ?? new Map<string, Body>();
  cachedBodies.set(subject, bodies);
  const known = bodies.get(key);
  if (known) return known;
  const text = render();
  const bytes = Buffer.from(text ?? "");
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const body = { text, etag, sizeBytes: bytes.length };
  if (bodies.size >= MAX_CACHED_BODIES) bodies.clear();
  bodies.set(key, body);
  return body;
}

/** Reads the installed version; null if the query has none. @throws AppError invalid_query if it cannot be parsed */
function readInstalledVersion(query: VersionQuery): InstalledVersion | null {
  const given = givenVersion(query);
  if (!given) return null;
  const installed = parseInstalledVersion(given.text);
  if (installed) return installed;
  const errors = [{ pointer: `?${given.name}`, code: "invalid_format", detail: NOT_A_VERSION }];
  throw new AppError("invalid_query", { errors });
}

function givenVersion({ current, version }: VersionQuery): { name: string; text: string } | null {
  if (current !== undefined && version !== undefined) {
    const detail = "Is an alias of current: send only one of them";
    throw new AppError("invalid_query", { errors: [{ pointer: "?version", code: "repeated", detail }] });
  }
  if (current !== undefined) return { name: "current", text: current };
  return version === undefined ? null : { name: "version", text: version };
}

function assertSupportedQuery(
  { platforms, requiresCurrentVersion, requiresBundleType }: VersionFormat,
  { platform }: ReleaseSelector,
  { bundleType }: VersionQuery,
  installed: InstalledVersion | null,
): void {
  if (platforms && !platforms.includes(platform)) {
    const detail = `Must be ${platforms.join(" or ")} with this format`;
    const errors = [{ pointer: "?platform", code: "invalid_value", detail }];
    throw new AppError("invalid_query", { errors, fields: { allowed: { platform: platforms } } });
  }
  if (requiresCurrentVersion && !installed) {
    throw missing("current", "Is required with this format, because its updater does not compare versions");
  }
  if (requiresBundleType && platform === "linux" && bundleType === undefined) {
    throw missing("bundleType", "Is required with this format on Linux, where one type of file cannot update another");
  }
}

function missing(name: string, detail: string): AppError {
  const errors = [{ pointer: `?${name}`, code: "required", detail }];
  return new AppError("invalid_query", { errors, fields: { missing: [name] } });
}
