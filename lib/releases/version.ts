import { createHash } from "node:crypto";
import type { Context } from "../context";
import { AppError } from "../errors";
import type { Snapshot } from "./catalog/snapshot";
import { type Conditions, matchesEtag } from "./conditions";
import type { Answer } from "./exchange";
import { type Kind, type Release, ReleaseVersion, ServiceVersion, type VersionQuery, versionText } from "./schema";
import { judgeUpdate, mainArtifact, readSelection, selectRelease, selects } from "./selection";

type Deps = Pick<Context, "catalog"> & { config: Pick<Context["config"], "baseUrl" | "build"> };
type Body = { text: string; etag: string; lengthBytes: number };
type Judgement = { updateAvailable: boolean | null; mandatory: boolean | null };

const CACHE_CONTROL = "public, max-age=60, stale-while-revalidate=300";
const MAX_BODIES = 10_000;

/** Bodies made so far, by what they were made from: a new catalog starts afresh. */
const bodies = new WeakMap<Snapshot | Deps["config"]["build"], Map<string, Body>>();

/**
 * The service's own version, or the newest release of what the query selects, with a strong ETag.
 * @throws AppError invalid_query, release_not_found, catalog_unavailable
 */
export function lookUpVersion({ config, catalog }: Deps, query: VersionQuery, conditions: Conditions): Answer {
  const current = callersVersion(query);
  if (!selects(query)) return answer(serviceBody(config.build), conditions);
  const snapshot = catalog.current();
  const wanted = readSelection(query, snapshot);
  const release = snapshot && selectRelease(snapshot, wanted);
  if (!release) throw new AppError("release_not_found");
  const judgement = current ? judgeUpdate(release, current) : { updateAvailable: null, mandatory: null };
  return answer(releaseBody(snapshot, release, wanted.architecture, judgement, config.baseUrl), conditions);
}

/** The address of one artifact of one release, whatever is released later. */
function downloadUrl(baseUrl: string, release: Release, kind: Kind): string {
  const query = new URLSearchParams({
    product: release.product,
    architecture: release.architecture,
    version: versionText(release.version),
    ...(release.channel === "stable" ? {} : { channel: release.channel }),
    ...(kind === "installer" ? {} : { kind }),
  });
  return `${baseUrl}/api/download/${release.platform}?${query}`;
}

function callersVersion({ current, version }: VersionQuery) {
  if (current && version) {
    const detail = "Is another name for current: give one of them";
    throw new AppError("invalid_query", { errors: [{ pointer: "?version", code: "repeated", detail }] });
  }
  return current ?? version;
}

function serviceBody(build: Deps["config"]["build"]): Body {
  return remember(build, "service", () => {
    const { name, version, commit, builtAt } = build;
    return ServiceVersion.parse({ kind: "service", name, version, apiVersion: "1", commit, builtAt });
  });
}

/** Few differ: the callers' versions come in only by the judgement of them. */
function releaseBody(
  snapshot: Snapshot,
  release: Release,
  requestedArchitecture: string,
  judgement: Judgement,
  baseUrl: string,
): Body {
  const { updateAvailable, mandatory } = judgement;
  const key = `${release.id} ${requestedArchitecture} ${updateAvailable} ${mandatory} ${baseUrl}`;
  return remember(snapshot, key, () => describe(release, requestedArchitecture, judgement, baseUrl));
}

function describe(release: Release, requestedArchitecture: string, judgement: Judgement, baseUrl: string) {
  const main = mainArtifact(release);
  if (!main) throw new AppError("release_not_found");
  const { minimumSupportedVersion } = release;
  return ReleaseVersion.parse({
    ...release,
    kind: "release",
    requestedArchitecture,
    version: versionText(release.version),
    minimumSupportedVersion: minimumSupportedVersion && versionText(minimumSupportedVersion),
    ...judgement,
    artifact: { ...main.artifact, url: downloadUrl(baseUrl, release, main.kind) },
  } satisfies ReleaseVersion);
}

function remember(source: WeakKey & (Snapshot | Deps["config"]["build"]), key: string, make: () => unknown): Body {
  const made = bodies.get(source) ?? new Map<string, Body>();
  bodies.set(source, made);
  const known = made.get(key);
  if (known) return known;
  const text = JSON.stringify(make());
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  const body = { text, etag, lengthBytes: Buffer.byteLength(text) };
  if (made.size >= MAX_BODIES) made.clear();
  made.set(key, body);
  return body;
}

function answer({ text, etag, lengthBytes }: Body, { ifNoneMatch }: Conditions): Answer {
  const headers = { ETag: etag, "Cache-Control": CACHE_CONTROL };
  if (ifNoneMatch !== null && matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: null };
  return {
    status: 200,
    headers: { "Content-Type": "application/json", "Content-Length": String(lengthBytes), ...headers },
    body: text,
  };
}
