import { createHash } from "node:crypto";
import path from "node:path";
import { makeFolder, writeDurably } from "../../files/durable";
import { readManifestFile } from "./file-source";
import { MAX_MANIFEST_BYTES, type ManifestSource, ManifestTooLargeError, type RawManifest } from "./manifest-source";

const POLL_MS = 30_000;
/** For one look, redirections and the last byte included. */
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

type Validators = { etag: string | null; lastModified: string | null };

/**
 * A manifest at an address, asked for every 30 seconds with the validators of the last answer (RFC 9110, 13.1.2
 * and 13.1.3). The last good one is kept in `keptIn`, so that a start does not depend on the address.
 */
export function urlSource(address: string, keptIn: string, timeoutMs = TIMEOUT_MS): ManifestSource {
  const url = new URL(address);
  const kept = path.join(keptIn, `catalog-${sha256(Buffer.from(url.href)).slice(0, 16)}.json`);
  const closing = new AbortController();
  let known: Validators = { etag: null, lastModified: null };
  let lastRead = "";
  return {
    name: url.origin + url.pathname, // a query may hold a secret
    pollMs: POLL_MS,
    read: async () => {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
      const answer = await ask(url, known, signal).catch((error: unknown) => {
        throw new Error(`The catalog's address does not answer: ${reasonOf(error)}`, { cause: error });
      });
      if (answer === "unchanged") return null;
      known = answer.validators;
      const read = sha256(answer.bytes); // for servers that know no validators
      if (read === lastRead) return null;
      lastRead = read;
      return { bytes: answer.bytes, root: null };
    },
    readCached: async () => {
      try {
        return { bytes: await readManifestFile(kept), root: null };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw error;
      }
    },
    writeCached: async ({ bytes }: RawManifest) => {
      await makeFolder(keptIn);
      await writeDurably(kept, bytes);
    },
    close: () => closing.abort(),
  };
}

async function ask(url: URL, known: Validators, signal: AbortSignal) {
  const headers = new Headers({ accept: "application/json" });
  if (known.etag !== null) headers.set("if-none-match", known.etag);
  else if (known.lastModified !== null) headers.set("if-modified-since", known.lastModified);
  const response = await follow(url, headers, signal);
  if (response.status !== 200) await response.body?.cancel();
  if (response.status === 304) return "unchanged" as const;
  if (response.status !== 200) throw new Error(`it answered ${response.status}`);
  const validators = { etag: response.headers.get("etag"), lastModified: response.headers.get("last-modified") };
  return { validators, bytes: await readBody(response) };
}

/** Follows redirections to wherever a catalog may lie. */
async function follow(start: URL, headers: Headers, signal: AbortSignal): Promise<Response> {
  let url = start;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    if (!REDIRECTS.has(response.status)) return response;
    await response.body?.cancel();
    const location = response.headers.get("location") ?? "";
    if (!URL.canParse(location, url)) throw new Error("it redirects to nowhere");
    url = new URL(location, url);
    if (!mayHoldCatalog(url, start)) throw new Error("it redirects to an address that is not https");
  }
  throw new Error(`it redirects more than ${MAX_REDIRECTS} times`);
}

/** Plain http is for this machine alone, and nobody is led there from https. */
function mayHoldCatalog(url: URL, start: URL): boolean {
  return url.protocol === "https:" || (start.protocol === "http:" && url.origin === start.origin);
}

/** The cap counts what was decompressed, whatever Content-Length said. */
async function readBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > MAX_MANIFEST_BYTES) throw new ManifestTooLargeError(); // leaving the loop ends the transfer
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "it took too long";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
