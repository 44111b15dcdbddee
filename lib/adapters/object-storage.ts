import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import type { Config } from "../config";
import type { Context } from "../context";

/** An object as a browser should get it. */
type Named = { key: string; contentDisposition: string; contentType: string };

/** An object to be stored. `sha256` is hexadecimal; the storage refuses bytes that do not have it. */
type Upload = { key: string; sizeBytes: number; sha256: string; contentType: string; bytes: AsyncIterable<Uint8Array> };

/** S3-compatible object storage. */
export type ObjectStorage = {
  /** An address that anybody may GET for five minutes. Asks nobody. @throws Error for a key that no URL can hold. */
  presignGet: (object: Named) => Promise<string>;
  /** Stores an object of at most 5 GiB. @throws Error that says what went wrong; a silent storage is given up. */
  put: (upload: Upload) => Promise<void>;
};

const EXPIRES_SECONDS = 300;
/** S3's limit for one PUT. */
const MAX_PUT_BYTES = 5 * 1024 ** 3;
const SILENT_MS = 30_000;
/** How long the word to go on is waited for. */
const CONTINUE_MS = 2_000;

type Credentials = { endpoint: string; bucket: string; region: string; accessKeyId: string; secretAccessKey: string };

/** The storage that the configuration names; null without one. `silentMs`: how long it may say nothing. */
export function createObjectStorage(
  config: Config,
  now: Context["now"],
  silentMs: number = SILENT_MS,
): ObjectStorage | null {
  const account = accountOf(config);
  if (!account) return null;
  const { accessKeyId, secretAccessKey, region } = account;
  const cache = new Map<string, ArrayBuffer>(); // of signing keys: one a day
  const signer = (more: { url: string; method?: string; headers?: Record<string, string>; signQuery?: true }) => {
    const datetime = now()
      .toISOString()
      .replace(/[:-]|\.\d{3}/g, "");
    return new AwsV4Signer({ accessKeyId, secretAccessKey, region, service: "s3", datetime, cache, ...more });
  };
  return {
    presignGet: async ({ key, contentDisposition, contentType }) => {
      const url = urlOf(account, key);
      url.searchParams.set("X-Amz-Expires", String(EXPIRES_SECONDS));
      url.searchParams.set("response-content-disposition", contentDisposition);
      url.searchParams.set("response-content-type", contentType);
      const signed = await signer({ url: url.href, signQuery: true }).sign();
      return signed.url.href.replaceAll("+", "%20"); // a blank, to whoever does not decode it as a form's
    },
    put: async ({ key, sizeBytes, sha256, contentType, bytes }) => {
      if (sizeBytes > MAX_PUT_BYTES) throw new Error("The storage takes 5 GiB at once, and no more");
      const headers = { "content-type": contentType, "x-amz-content-sha256": sha256 };
      const signed = await signer({ method: "PUT", url: urlOf(account, key).href, headers }).sign();
      const all = { ...Object.fromEntries(signed.headers), "content-length": String(sizeBytes) };
      await send(signed.url, all, bytes, silentMs);
    },
  };
}

function accountOf(config: Config): Credentials | null {
  const { RELEASE_S3_ENDPOINT: endpoint, RELEASE_S3_BUCKET: bucket, RELEASE_S3_REGION: region } = config;
  const { RELEASE_S3_ACCESS_KEY_ID: accessKeyId, RELEASE_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (!endpoint || !bucket || !region || !accessKeyId || !secretAccessKey) return null;
  return { endpoint, bucket, region, accessKeyId, secretAccessKey };
}

/**
 * Amazon's own addresses name the bucket in the host (a bucket with a dot has no certificate there), all others
 * in the path.
 */
function urlOf({ endpoint, bucket }: Credentials, key: string): URL {
  const url = new URL(endpoint);
  const base = url.pathname.replace(/\/+$/, "");
  const inHost = url.hostname.startsWith(`${bucket}.`);
  const isAmazon = /^s3([.-].*)?\.amazonaws\.com(\.cn)?$/.test(url.hostname) && !bucket.includes(".");
  if (isAmazon) url.hostname = `${bucket}.${url.hostname}`;
  const path = key.split("/").map(encodeSegment).join("/");
  url.pathname = inHost || isAmazon ? `${base}/${path}` : `${base}/${bucket}/${path}`;
  if (!url.pathname.endsWith(`/${path}`)) throw new Error("A key with . or .. as a part of it has no address");
  return url;
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Not fetch: its time-outs are for whole answers, and a long upload is fine as long as it moves. The body waits
 * for the storage's word (RFC 9110, 10.1.1), so that a refusal is heard before gigabytes are sent.
 */
async function send(url: URL, headers: Record<string, string>, bytes: AsyncIterable<Uint8Array>, silentMs: number) {
  const make = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = make(url, { method: "PUT", headers: { ...headers, expect: "100-continue" } });
  request.setTimeout(silentMs, () => request.destroy(new Error("The storage does not answer")));
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  const isAskedFor = Promise.race([
    once(request, "continue").then(() => true),
    answered.then(() => false),
    delay(CONTINUE_MS, true, { ref: false }), // it may not know the word
  ]);
  const sending = isAskedFor.then((isAsked) => (isAsked ? pipeline(bytes, request) : undefined));
  sending.catch(() => {}); // heard of by the request as well, unless the answer came first and says more
  try {
    const [response] = await answered;
    const text = await readStart(response);
    if (response.statusCode !== 200) throw new Error(`The storage answered ${response.statusCode}${codeOf(text)}`);
    await sending;
  } finally {
    request.destroy();
  }
}

async function readStart(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) {
    text += chunk;
    if (text.length > 10_000) break;
  }
  return text;
}

/** S3's own word for it, from its XML error document. */
function codeOf(text: string): string {
  const [, code] = /<Code>(\w+)<\/Code>/.exec(text) ?? [];
  return code === undefined ? "" : `: ${code}`;
}
