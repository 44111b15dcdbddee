import type { DocumentContent } from "../../platform/response-content";
import { findBuildVersion } from "../catalog/snapshot";
import { type AppcastItem, renderAppcast } from "../formats/appcast";
import { sparkle } from "../formats/sparkle";
import { DEFAULT_ARCHITECTURES, normalizeArchitecture, type Platform } from "../platforms";
import type { Release } from "../schema";
import { installedByBuild } from "../selection/installed-version";
import { findReleasesForOlderSystems } from "../selection/select-release";
import { evaluateUpdate, supportPolicyOf } from "../selection/support-policy";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { storedFileUrls } from "./stored-files";
import { missingRelease, recordCheck, toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

/** `version`: the one for people (CFBundleShortVersionString). */
type SparkleClient = { platform: Platform; version: string };

const MAX_LENGTH = 512;

/** Parses the User-Agent of Sparkle (`App/2.3.1 Sparkle/2.6.4`) and WinSparkle (`App/2.3.1 WinSparkle/0.9.3 (Win64)`). */
function parseSparkleClient(userAgent: string | null): SparkleClient | undefined {
  if (userAgent === null || userAgent.length > MAX_LENGTH) return undefined;
  const [, version, win] = /\/([^\s/]+) (Win)?Sparkle\/\d/.exec(userAgent) ?? [];
  return version === undefined ? undefined : { platform: win === undefined ? "macos" : "windows", version };
}

const { selectArtifact, comparesSystemVersion = () => true, contentType } = sparkle;
const RULES: UpdaterRules = { selectArtifact, comparesSystemVersion };

/**
 * One appcast for Sparkle and WinSparkle, for the system and version of the User-Agent, or for both systems. The one that
 * the publisher signed for the release stands alone, unchanged.
 */
export const appcastFeed: UpdateFeed = { pattern: /^appcast\.xml$/, resolve };

function resolve(request: UpdateRequest): DocumentContent {
  const client = parseSparkleClient(request.userAgent);
  const platforms: readonly Platform[] = client ? [client.platform] : ["macos", "windows"];
  const found = platforms.map((platform) => platformItems(request, platform, client));
  if (found.every((items) => items === null)) throw missingRelease(sparkle.requirements);
  const selected = found.flatMap((one) => one ?? []);
  const items = selected.flatMap((one) => one.items);
  const isClientSpecific = client !== undefined || selected.some((one) => one.isClientSpecific);
  const signed = selected.find((one) => one.signedDocument)?.signedDocument;
  if (signed) return toDocument({ text: signed, contentType, isClientSpecific });
  const text = renderAppcast(request.product, request.deps.config.baseUrl, items);
  return toDocument({ text, contentType, isClientSpecific });
}

/** The platform's newest release with its signed appcast, or with older ones for older systems; null without any. */
function platformItems(
  request: UpdateRequest,
  platform: Platform,
  client: SparkleClient | undefined,
): { items: AppcastItem[]; signedDocument?: string; isClientSpecific: boolean } | null {
  const { snapshot, product, channel, query, deps } = request;
  const architecture = normalizeArchitecture(query.arch ?? DEFAULT_ARCHITECTURES[platform]);
  const selector = { platform, product, channel, architecture };
  const current = request.current ?? installedByBuild(snapshot, selector, client?.version)?.version;
  const update = selectUpdate({ ...request, current }, selector, RULES);
  const { release, isClientSpecific, system } = update;
  if (!release) return null;
  if (client) recordCheck({ ...request, current }, selector, release);
  const signedDocument = release.signedDocuments.sparkle;
  if (signedDocument) return { items: [], signedDocument, isClientSpecific };
  const older = findReleasesForOlderSystems(snapshot, selector, selectArtifact, release, system);
  const urlOf = storedFileUrls(deps.config.baseUrl);
  const toItem = (one: Release): AppcastItem[] => {
    const artifact = selectArtifact(one);
    if (!artifact) return [];
    const policy = supportPolicyOf(snapshot, selector, one);
    const isMandatory = one === release && current !== undefined && evaluateUpdate(one, current, policy).mandatory;
    const buildVersionOf: AppcastItem["buildVersionOf"] = (of, version) => findBuildVersion(snapshot, of, version);
    return [{ release: one, artifact, isMandatory, policy, urlOf, buildVersionOf }];
  };
  // An older version is left to the client, which compares build versions. A sample is no update for a real release.
  const items = update.shouldKeepInstalled && release.sample ? [] : [release, ...older].flatMap(toItem);
  return { items, isClientSpecific };
}
