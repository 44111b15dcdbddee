import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { type RequestOptions, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import tls, { createSecureContext, type SecureContext } from "node:tls";
import { isInNetworks } from "./config/networks";
import { toStorableText } from "./storable";

/**
 * The networks that no public host is in (IANA, "Special-Purpose Address Registries"), and those that embed an IPv4
 * address of any kind: NAT64, 6to4, Teredo and SIIT. A mapped IPv4 address is checked as itself.
 */
const NOT_PUBLIC = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/96",
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];
export const LOOPBACK_NETWORKS = ["127.0.0.0/8", "::1/128"];

/** Which addresses requests may go to besides public ones, as networks. HTTP without TLS is for those alone. */
export type AllowedNetworks = readonly string[];

/** Why a URL must not be sent to. */
class RefusedAddress extends Error {
  override readonly name = "RefusedAddress";
}

export function isAllowedAddress(address: string, protocol: string, allowed: AllowedNetworks): boolean {
  if (isInNetworks(address, allowed)) return true;
  return protocol === "https:" && isIP(address) !== 0 && !isInNetworks(address, NOT_PUBLIC);
}

/** Why requests can never go to a URL; null if that depends on what its host resolves to. */
export function findUrlFault({ protocol, hostname }: URL, allowed: AllowedNetworks): string | null {
  const host = hostOf(hostname);
  const isHttp = protocol === "http:";
  if (isHttp && allowed.length === 0) return "Must be an https URL";
  if (isIP(host) === 0 || isAllowedAddress(host, protocol, allowed)) return null;
  return isHttp ? "Must be an https URL" : "Must have a public address";
}

/** A URL's host as DNS and sockets take it: IPv6 without brackets. */
export const hostOf = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/**
 * Resolves a URL's host, for a connection to exactly this address: resolving it again could give another one ("DNS
 * rebinding"). @throws RefusedAddress if one of its addresses is not allowed; Error if it has none
 */
export async function resolveAddress({ protocol, hostname }: URL, allowed: AllowedNetworks) {
  const addresses = await lookup(hostOf(hostname), { all: true });
  const refused = addresses.find(({ address }) => !isAllowedAddress(address, protocol, allowed));
  if (refused) throw new RefusedAddress(`${refused.address} is not an address that requests may go to`);
  const [first] = addresses;
  if (!first) throw new Error(`${hostname} has no address`);
  return first;
}

/**
 * Parses Retry-After, seconds or an HTTP date (RFC 9110, section 10.2.3), as seconds from now; undefined if it is absent or
 * invalid.
 */
export function parseRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d+$|GMT$/.test(text)) return undefined; // Date.parse reads "-5" as a date in May
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000);
  return Number.isSafeInteger(seconds) ? Math.max(seconds, 0) : undefined;
}

type FetchLimits = { maxBytes: number; timeoutMs: number; userAgent?: string };

const SMALL = { maxBytes: 64 * 1024, timeoutMs: 5_000 };

/** Fetches JSON as `fetchText` does text. @throws Error also for a body that is not JSON */
export async function fetchJson(url: string, limits: FetchLimits): Promise<unknown> {
  return JSON.parse(await fetchText(url, limits, "application/json"));
}

/**
 * Fetches a text, of which `maxBytes` are read, decompressed. Follows no redirect: it could lead to any host.
 * @throws Error without a response in time, for a status other than 2xx, and for a larger body
 */
export async function fetchText(
  url: string,
  { maxBytes, timeoutMs, userAgent = "homeport" }: FetchLimits = SMALL,
  accept = "*/*",
): Promise<string> {
  const response = await fetch(url, {
    headers: { accept, "user-agent": userAgent },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.ok) return readText(response, maxBytes);
  await response.body?.cancel();
  throw new Error(`${url} responded with ${response.status}`);
}

/** Reads a body as JSON. @throws Error if it is larger than `maxBytes` or not JSON */
export async function readJson(response: Response, maxBytes: number): Promise<unknown> {
  return JSON.parse(await readText(response, maxBytes));
}

/** Reads a body as text. @throws Error if it is larger than `maxBytes` */
export async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`); // aborts the transfer
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The whole request: name resolution, connection, request and response. */
const TIMEOUT_MS = 10_000;
/** What is read and kept of a response's body. */
const MAX_BODY_BYTES = 1_024;
const MAX_ERROR_LENGTH = 300;

/** How a request ended. `error` is set if there was no response. */
export type PostResult = {
  status: number | null;
  body: string | null;
  error: string | null;
  retryAfterSeconds: number | null;
  durationMs: number;
};

type Message = {
  url: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** Without it, Node's own trust. */
  secureContext?: SecureContext | undefined;
};

/**
 * Trusts a certificate authority, in PEM, besides those that Node trusts: the option `ca` alone would replace them.
 * `extraCaFile` is the file of NODE_EXTRA_CA_CERTS.
 */
export function trustAlso(ca: string, extraCaFile: string | undefined): SecureContext {
  return createSecureContext({ ca: [...trustedCertificates(extraCaFile), ca] });
}

/** Before version 22.15, Node does not return those of NODE_EXTRA_CA_CERTS. */
function trustedCertificates(extraCaFile: string | undefined): string[] {
  const { getCACertificates } = tls as { getCACertificates?: (type: "default") => string[] };
  if (getCACertificates) return getCACertificates("default");
  try {
    return [...tls.rootCertificates, ...(extraCaFile ? [readFileSync(extraCaFile, "utf8")] : [])];
  } catch {
    return [...tls.rootCertificates]; // Node has warned about the file
  }
}

/** Posts a message. Follows no redirect, and reads the start of the response alone. Never throws. */
export async function postMessage(message: Message, allowed: AllowedNetworks): Promise<PostResult> {
  const startedMs = performance.now();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const none = { status: null, body: null, error: null, retryAfterSeconds: null };
  const attempt = await send(message, allowed, signal).catch((error: unknown) => ({
    ...none,
    error: signal.aborted ? `No response within ${TIMEOUT_MS / 1000} seconds` : describe(error),
  }));
  return { ...none, ...attempt, durationMs: Math.round(performance.now() - startedMs) };
}

async function send(message: Message, allowed: AllowedNetworks, signal: AbortSignal): Promise<Partial<PostResult>> {
  const { headers: given, body, secureContext } = message;
  const headers = { ...given, "content-length": Buffer.byteLength(body) };
  const options = { method: "POST", headers, ...(secureContext && { secureContext }) }; // of tls.connect()
  const response = await connect(new URL(message.url), options, allowed, signal, body);
  const { statusCode: status = 0, headers: received } = response;
  const retryAfterSeconds = parseRetryAfter(received["retry-after"]) || null;
  return { status, body: await readStart(response), retryAfterSeconds };
}

const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Requests a file whose URL a caller has chosen, and follows redirects, each to an allowed address. Returns the body.
 * @throws Error for a status other than 2xx, and for an address that is not allowed
 */
export async function openDownload(
  start: string,
  allowed: AllowedNetworks,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const options = { method: "GET", headers: { "accept-encoding": "identity", "user-agent": "homeport" } };
  let url = new URL(start);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const fault = findUrlFault(url, allowed);
    if (fault) throw new Error(fault);
    const response = await connect(url, options, allowed, signal);
    const { statusCode: status = 0, headers } = response;
    if (status >= 200 && status < 300) return response;
    response.destroy();
    if (!REDIRECT_STATUSES.includes(status)) throw new Error(`the response status is ${status}`);
    const { location = "" } = headers;
    if (!URL.canParse(location, url)) throw new Error("the redirect has no valid Location");
    url = new URL(location, url);
  }
  throw new Error(`there are more than ${MAX_REDIRECTS} redirects`);
}

/** Sends a request to the address that was checked. Resolves with the response's headers, whose body is to be read. */
async function connect(
  url: URL,
  options: RequestOptions,
  allowed: AllowedNetworks,
  signal: AbortSignal,
  body?: string | Buffer,
): Promise<IncomingMessage> {
  const { address, family } = await abortable(resolveAddress(url, allowed), signal);
  return new Promise((resolve, reject) => {
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = open(url, {
      ...options,
      agent: false, // a connection of another request may go to another address
      signal,
      lookup: (_host, { all }, found) =>
        all ? found(null, [{ address, family }]) : found(null, address as string, family),
    });
    outgoing.on("response", resolve).on("error", reject);
    // An unrequested 101 Switching Protocols is neither: Node.js closes the connection.
    outgoing.on("close", () => reject(new Error("The connection was closed without a response")));
    outgoing.end(body);
  });
}

/** The start of a body as text. A body that breaks off or takes too long does not change the response. */
async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length >= MAX_BODY_BYTES) break; // ends the iteration, which closes the connection
    }
  } catch {
    // its start is enough
  }
  response.destroy();
  return toStorableText(Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES).toString());
}

/** Name resolution takes no signal. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

function describe(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const text = message || code || String(error);
  return toStorableText(text.slice(0, MAX_ERROR_LENGTH));
}
