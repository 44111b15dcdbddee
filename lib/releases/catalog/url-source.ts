import { createHash } from "node:crypto";
import path from "node:path";
import { ifMissing, makeFolder, removeOldFiles, writeDurably } from "../../platform/files/durable";
import {
  MAX_MANIFEST_BYTES,
  type ManifestSource,
  ManifestTooLargeError,
  type RawManifest,
  readManifestFile,
} from "./manifest-source";

const POLL_MS = 30_000;
const TEMPORARY = /^catalog-[\da-f]+\.json\.[\da-f-]+\.tmp$/;
/** For one read, from the first redirect to the last byte. */
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

type Validators = { etag: string | null; lastModified: string | null };

/** A manifest at a URL, requested with the last validators (RFC 9110, 13.1). The last valid one is cached. */
export function urlSource(manifestUrl: string, cacheFolder: string, timeoutMs = TIMEOUT_MS): ManifestSource {
  const url = new URL(manifestUrl);
  const cacheFile = path.join(cacheFolder, `catalog-${sha256(Buffer.from(url.href)).slice(0, 16)}.json`);
  const closing = new AbortController();
  let validators: Validators = { etag: null, lastModified: null };
  let lastHash = "";
  return {
    name: url.origin + url.pathname, // the query may contain a secret
    pollMs: POLL_MS,
    read: async () => {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
      const response = await fetchManifest(url, validators, signal).catch((error: unknown) => {
        throw new Error(`The catalog URL cannot be read: ${reasonOf(error)}`, { cause: error });
      });
      if (response === "not modified") return null;
      validators = response.validators;
      const hash = sha256(response.bytes); // for servers without validators
      if (hash === lastHash) return null;
      lastHash = hash;
      return { bytes: response.bytes, root: null };
    },
    readCached: async () => {
      const bytes = await readManifestFile(cacheFile).catch(ifMissing(null));
      return bytes && { bytes, root: null };
    },
    writeCached: async ({ bytes }: RawManifest) => {
      await makeFolder(cacheFolder);
      await removeOldFiles(cacheFolder, TEMPORARY);
      await writeDurably(cacheFile, bytes, { isShared: true });
    },
    close: () => closing.abort(),
  };
}

async function fetchManifest(url: URL, { etag, lastModified }: Validators, signal: AbortSignal) {
  const headers = new Headers({ accept: "application/json" });
  if (etag !== null) headers.set("if-none-match", etag);
  else if (lastModified !== null) headers.set("if-modified-since", lastModified);
  const response = await fetchFollowingRedirects(url, headers, signal);
  if (response.status !== 200) await response.body?.cancel();
  if (response.status === 304) return "not modified" as const;
  if (response.status !== 200) throw new Error(`the response status is ${response.status}`);
  return {
    validators: { etag: response.headers.get("etag"), lastModified: response.headers.get("last-modified") },
    bytes: await readBody(response),
  };
}

async function fetchFollowingRedirects(start: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
  let url = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    if (!REDIRECT_STATUSES.has(response.status)) return response;
    await response.body?.cancel();
    const location = response.headers.get("location") ?? "";
    if (!URL.canParse(location, url)) throw new Error("the redirect has no valid Location");
    url = new URL(location, url);
    if (!isAllowedRedirect(url, start)) throw new Error("the redirect leads to a URL that is not https");
  }
  throw new Error(`there are more than ${MAX_REDIRECTS} redirects`);
}

/** A redirect may lead to https, or stay on the origin of an http URL; it never downgrades https. */
function isAllowedRedirect(url: URL, start: URL): boolean {
  return url.protocol === "https:" || (start.protocol === "http:" && url.origin === start.origin);
}

/** The limit counts decompressed bytes, whatever Content-Length says. */
async function readBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > MAX_MANIFEST_BYTES) throw new ManifestTooLargeError(); // leaving the loop aborts the transfer
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "the request timed out";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
