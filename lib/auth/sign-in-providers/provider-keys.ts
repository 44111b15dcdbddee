import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import { fetchJson } from "../../platform/outbound";
import { perObject } from "../../platform/per-object";

type Deps = Pick<Context, "db" | "log" | "now">;

const LIMITS = { timeoutMs: 5_000, maxBytes: 256 * 1024 };

const HttpUrl = z.url({ protocol: /^https?$/ });
/** OpenID Connect Discovery 1.0, section 3. Issuers that nobody signs in at have no token endpoint. */
const Metadata = z.object({ issuer: z.string(), jwks_uri: HttpUrl, token_endpoint: HttpUrl.optional() });
type Metadata = z.infer<typeof Metadata>;

/** Fetches a provider's metadata. @throws Error if it does not respond, or names another issuer */
export async function fetchProviderMetadata(issuer: string): Promise<Metadata> {
  const metadata = Metadata.parse(
    await fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, LIMITS),
  );
  if (metadata.issuer !== issuer) throw new Error(`The metadata of ${issuer} names another issuer`);
  return metadata;
}

/** Fetches a provider's JSON Web Key Set, from the URL in its metadata. @throws Error if the provider does not respond */
async function fetchProviderKeys(issuer: string): Promise<unknown> {
  const { jwks_uri: url } = await fetchProviderMetadata(issuer);
  if (issuer.startsWith("https:") && !url.startsWith("https:"))
    throw new Error(`The keys of ${issuer} are not at https`);
  return fetchJson(url, LIMITS);
}

type Keys = ReturnType<typeof createLocalJWKSet>;

const MAX_AGE_MS = 60 * 60 * 1000;
/** How long keys are used while the provider does not respond. */
const MAX_AGE_IN_OUTAGE_MS = 24 * 60 * 60 * 1000;
/** The time between two requests to a provider, whatever tokens arrive. */
const COOL_DOWN_SECONDS = 10;

/** The keys of an issuer in this process. `attemptedAt` and `failure` are of the last request for them. */
type KeyCache = {
  keys: Keys | null;
  loadedAt: number;
  attemptedAt: number;
  failure: AppError | null;
  pending: Promise<Keys> | null;
};

const cachesOf = perObject((_db: Deps["db"]) => new Map<string, KeyCache>());

/**
 * Finds the key that signed an ID token in its issuer's JSON Web Key Set (RFC 7517). The set is fetched once an hour, and
 * again for an unknown key; concurrent calls share one request.
 * @throws AppError provider_unavailable; JOSEError if the issuer has no such key
 */
export function providerKeys(deps: Deps, issuer: string): JWTVerifyGetKey {
  return async (header, token) => {
    const cache = cacheOf(deps, issuer);
    const keys = await currentKeys(deps, issuer, cache);
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = await newerKeys(deps, issuer, cache, keys);
      if (!newer) throw error;
      return newer(header, token);
    }
  };
}

function cacheOf({ db }: Deps, issuer: string): KeyCache {
  const caches = cachesOf(db);
  const known = caches.get(issuer);
  if (known) return known;
  const created: KeyCache = { keys: null, loadedAt: 0, attemptedAt: 0, failure: null, pending: null };
  caches.set(issuer, created);
  return created;
}

async function currentKeys(deps: Deps, issuer: string, cache: KeyCache): Promise<Keys> {
  const { keys } = cache;
  const isYounger = (maxMs: number) => isWithin(deps, cache.loadedAt, maxMs);
  if (keys && isYounger(MAX_AGE_MS)) return keys;
  const usable = keys && isYounger(MAX_AGE_IN_OUTAGE_MS) ? keys : null;
  return load(deps, issuer, cache).catch((error: unknown) => {
    if (usable) return usable;
    throw error;
  });
}

/** The keys that replaced `used`: another call's, or those that are fetched now. Null: it is too early to ask again. */
async function newerKeys(deps: Deps, issuer: string, cache: KeyCache, used: Keys): Promise<Keys | null> {
  if (cache.keys !== used) return cache.keys;
  const isTooEarly = !cache.pending && !cache.failure && isWithin(deps, cache.attemptedAt, COOL_DOWN_SECONDS * 1000);
  return isTooEarly ? null : load(deps, issuer, cache);
}

/** Fetches the keys. Repeats a failure without a request until the cool-down is over. */
function load(deps: Deps, issuer: string, cache: KeyCache): Promise<Keys> {
  if (cache.pending) return cache.pending;
  if (cache.failure && isWithin(deps, cache.attemptedAt, COOL_DOWN_SECONDS * 1000))
    return Promise.reject(cache.failure);
  cache.attemptedAt = deps.now().getTime();
  const pending = fetchKeys(deps, issuer, cache).finally(() => {
    cache.pending = null;
  });
  cache.pending = pending;
  return pending;
}

async function fetchKeys({ log, now }: Pick<Deps, "log" | "now">, issuer: string, cache: KeyCache): Promise<Keys> {
  try {
    const keys = createLocalJWKSet((await fetchProviderKeys(issuer)) as JSONWebKeySet);
    Object.assign(cache, { keys, loadedAt: now().getTime(), failure: null });
    return keys;
  } catch (cause) {
    log.warn({ err: cause, issuer }, "the keys of an issuer of ID tokens could not be loaded");
    cache.failure = new AppError("provider_unavailable", { retryAfterSeconds: COOL_DOWN_SECONDS, cause });
    throw cache.failure;
  }
}

/** Whether a time is at most this long ago, by a clock that may have been set back. */
function isWithin({ now }: Pick<Deps, "now">, at: number, ms: number): boolean {
  return Math.abs(now().getTime() - at) < ms;
}
