import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import type { Config } from "../config";

/** An object to store. `sha256` is hexadecimal; the storage rejects bytes with another hash. */
type UploadObject = {
  key: string;
  sizeBytes: number;
  sha256: string;
  contentType: string;
  bytes: AsyncIterable<Uint8Array>;
  /** `x-amz-meta-…`, `cache-control` and others that the storage keeps. */
  headers?: Record<string, string>;
};

export type ObjectStorage = {
  /**
   * Returns a public URL of an object with the headers that a browser receives. It is valid for five minutes. Makes no
   * request. @throws Error for an invalid key
   */
  presignGet: (object: { key: string; contentDisposition: string; contentType: string }) => Promise<string>;
  /** Stores an object of at most 5 GiB. Returns its ETag. @throws Error if the storage rejects it or does not respond */
  put: (upload: UploadObject) => Promise<string | null>;
};

/** A bucket of S3-compatible storage, and its keys. */
export type Bucket = { endpoint: string; bucket: string; region: string; accessKeyId: string; secretAccessKey: string };

/**
 * The URL of an object. Amazon S3 takes the bucket in the host name, unless the bucket's name has a dot, for which there is no
 * certificate. Other storages take it in the path. An empty key is the bucket.
 * @throws Error for a key with . or .. as a segment
 */
export function objectUrl({ endpoint, bucket }: Pick<Bucket, "endpoint" | "bucket">, key: string): URL {
  const url = new URL(endpoint);
  const base = url.pathname.replace(/\/$/, "");
  const isInHost = url.hostname.startsWith(`${bucket}.`);
  const isAmazon = /^s3([.-].*)?\.amazonaws\.com(\.cn)?$/.test(url.hostname) && !bucket.includes(".");
  if (isAmazon) url.hostname = `${bucket}.${url.hostname}`;
  const path = key.split("/").map(encodeSegment).join("/");
  url.pathname = isInHost || isAmazon ? `${base}/${path}` : `${base}/${bucket}/${path}`;
  if (!url.pathname.endsWith(`/${path}`)) throw new Error("A key must not have . or .. as a path segment");
  return url;
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The code in S3's XML error document, after a colon; empty without one. */
export function errorCodeOf(text: string): string {
  const [, code] = /<Code>(\w+)<\/Code>/.exec(text) ?? [];
  return code === undefined ? "" : `: ${code}`;
}

const EXPIRES_SECONDS = 300;
/** The limit of S3's PutObject. */
const MAX_PUT_BYTES = 5 * 1024 ** 3;
const MAX_ERROR_LENGTH = 10_000;
const IDLE_TIMEOUT_MS = 30_000;
const CONTINUE_TIMEOUT_MS = 2_000;

type Upload = { url: URL; headers: Record<string, string>; bytes: AsyncIterable<Uint8Array>; idleTimeoutMs: number };

/** Opens the configured bucket; null without one. */
export function createObjectStorage(
  config: Config,
  now: () => Date,
  idleTimeoutMs: number = IDLE_TIMEOUT_MS,
): ObjectStorage | null {
  const bucket = bucketOf(config, config.RELEASE_S3_BUCKET);
  return bucket && openBucket(bucket, now, idleTimeoutMs);
}

/** Opens a bucket. `idleTimeoutMs` is how long the storage may send nothing. */
export function openBucket(bucket: Bucket, now: () => Date, idleTimeoutMs: number = IDLE_TIMEOUT_MS): ObjectStorage {
  const { accessKeyId, secretAccessKey, region } = bucket;
  const cache = new Map<string, ArrayBuffer>(); // of signing keys, one a day
  const signer = (request: { url: string; method?: string; headers?: Record<string, string>; signQuery?: true }) => {
    const datetime = now()
      .toISOString()
      .replace(/[:-]|\.\d{3}/g, "");
    return new AwsV4Signer({ accessKeyId, secretAccessKey, region, service: "s3", datetime, cache, ...request });
  };
  return {
    presignGet: async ({ key, contentDisposition, contentType }) => {
      const url = objectUrl(bucket, key);
      url.searchParams.set("X-Amz-Expires", String(EXPIRES_SECONDS));
      url.searchParams.set("response-content-disposition", contentDisposition);
      url.searchParams.set("response-content-type", contentType);
      const signed = await signer({ url: url.href, signQuery: true }).sign();
      return signed.url.href.replaceAll("+", "%20"); // some storages do not decode "+" as a space
    },
    put: async ({ key, sizeBytes, sha256, contentType, bytes, headers: kept = {} }) => {
      if (sizeBytes > MAX_PUT_BYTES) throw new Error("The object is larger than 5 GiB, the limit of one upload");
      const headers = { ...kept, "content-type": contentType, "x-amz-content-sha256": sha256 };
      const signed = await signer({ method: "PUT", url: objectUrl(bucket, key).href, headers }).sign();
      const allHeaders = { ...Object.fromEntries(signed.headers), "content-length": String(sizeBytes) };
      return upload({ url: signed.url, headers: allHeaders, bytes, idleTimeoutMs });
    },
  };
}

/** A bucket at the storage of the releases; null without one. */
export function bucketOf(config: Config, bucket: string | undefined): Bucket | null {
  const { RELEASE_S3_ENDPOINT: endpoint, RELEASE_S3_REGION: region } = config;
  const { RELEASE_S3_ACCESS_KEY_ID: accessKeyId, RELEASE_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (!endpoint || !bucket || !region || !accessKeyId || !secretAccessKey) return null;
  return { endpoint, bucket, region, accessKeyId, secretAccessKey };
}

/**
 * Does not use fetch, whose time-out limits the whole upload. Expects 100 (RFC 9110, section 10.1.1), so that the
 * storage can reject a request before gigabytes are sent.
 */
async function upload({ url, headers, bytes, idleTimeoutMs }: Upload): Promise<string | null> {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = send(url, { method: "PUT", headers: { ...headers, expect: "100-continue" } });
  request.setTimeout(idleTimeoutMs, () => request.destroy(new Error("The storage does not respond")));
  const responded = once(request, "response") as Promise<[IncomingMessage]>;
  const mayContinue = Promise.race([
    once(request, "continue").then(() => true),
    responded.then(() => false),
    delay(CONTINUE_TIMEOUT_MS, true, { ref: false }), // the storage may not support Expect
  ]);
  const sending = mayContinue.then((isExpected) => (isExpected ? pipeline(bytes, request) : undefined));
  sending.catch(() => {}); // the request fails too, unless an earlier response explains more
  try {
    const [response] = await responded;
    const text = await readStart(response);
    if (response.statusCode !== 200) {
      throw new Error(`The storage returned status ${response.statusCode}${errorCodeOf(text)}`);
    }
    await sending;
    return response.headers.etag ?? null;
  } finally {
    request.destroy();
  }
}

async function readStart(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MAX_ERROR_LENGTH) break;
  }
  return text;
}
