import { readFileSync } from "node:fs";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import tls, { createSecureContext, type SecureContext } from "node:tls";
import { toStorableText } from "../storable-text";
import { type AllowedNetworks, resolveAddress } from "./addresses";
import { parseRetryAfter } from "./retry-after";

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
  const { headers, body, secureContext } = message;
  const url = new URL(message.url);
  const { address, family } = await abortable(resolveAddress(url, allowed), signal);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = open(url, {
      method: "POST",
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
      agent: false, // a connection of another delivery may go to another address
      signal,
      ...(secureContext && { secureContext }), // an option of tls.connect()
      lookup: (_host, { all }, found) =>
        all ? found(null, [{ address, family }]) : found(null, address as string, family),
    });
    outgoing.on("response", resolve).on("error", reject);
    // An unrequested 101 Switching Protocols is neither: Node.js closes the connection.
    outgoing.on("close", () => reject(new Error("The connection was closed without a response")));
    outgoing.end(body);
  });
  const { statusCode = 0, headers: received } = response;
  return {
    status: statusCode,
    body: await readStart(response),
    retryAfterSeconds: parseRetryAfter(received["retry-after"]) || null,
  };
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
