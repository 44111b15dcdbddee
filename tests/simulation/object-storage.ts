import { createHash, createHmac } from "node:crypto";
import path from "node:path";
import type { OutgoingRequest, OutgoingResponse } from "./network";
import type { Random } from "./random";

const REGION = "eu-central-1";
const ACCESS_KEY_ID = "AKIDSIMULATION";
const SECRET = "the-secret-of-the-object-storage";
/** A page of a list: a few, so that lists have several. */
const PAGE_KEYS = 40;
/** By how much the time of a request may differ from the storage's, as at Amazon S3. */
const MAX_SKEW_MS = 15 * 60_000;

type StoredObject = { bytes: Buffer<ArrayBuffer>; etag: string; headers: Record<string, string> };

const digest = (name: "md5" | "sha256", bytes: Buffer | string) => createHash(name).update(bytes).digest("hex");
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
const failed = (status: number, code: string): OutgoingResponse => ({
  status,
  body: `<Error><Code>${code}</Code></Error>`,
});

/** An S3-compatible storage (Amazon S3 API Reference), which is another machine: what it has stored stays. */
export class ObjectStorage {
  readonly origin = "https://storage.example.com";
  /** By bucket and key. */
  readonly objects = new Map<string, StoredObject>();
  /** The parts of multipart uploads that were not completed. */
  readonly uploads = new Map<string, Map<number, Buffer<ArrayBuffer>>>();
  #begun = 0;

  /** Whether files of releases may be here, as the seed says. */
  readonly hasReleases: boolean;
  /** The object whose bytes are others when the service reads it. */
  damaged: string | null = null;

  constructor(random: Random) {
    this.hasReleases = random.chance(0.4);
  }

  /** The service's variables for it. */
  settingsOf(prefix: string): Record<string, string> {
    const settings = { ENDPOINT: this.origin, REGION, ACCESS_KEY_ID, SECRET_ACCESS_KEY: SECRET };
    return Object.fromEntries(Object.entries(settings).map(([name, value]) => [prefix + name, value]));
  }

  /** What is below a bucket and a prefix, by the rest of its key. */
  below(prefix: string): Map<string, Buffer> {
    const found = [...this.objects].filter(([key]) => key.startsWith(prefix));
    return new Map(found.map(([key, { bytes }]) => [key.slice(prefix.length), bytes]));
  }

  respond(request: OutgoingRequest, nowMs: number): OutgoingResponse {
    const { url, method, headers, body } = request;
    if (!isSigned(request, nowMs)) return failed(403, "SignatureDoesNotMatch");
    const hash = headers["x-amz-content-sha256"] ?? "UNSIGNED-PAYLOAD";
    if (hash !== "UNSIGNED-PAYLOAD" && hash !== digest("sha256", body)) return failed(400, "XAmzContentSHA256Mismatch");
    const at = decodeURIComponent(url.pathname).slice(1);
    const query = url.searchParams;
    if (query.has("uploads") || query.has("uploadId")) return this.#multipart(request, at);
    if (query.has("list-type")) return this.#list(at, query);
    if (method === "PUT") return this.#put(at, body, headers);
    if (method === "DELETE") {
      this.objects.delete(at);
      return { status: 204 };
    }
    return this.#get(at, method, headers);
  }

  #put(at: string, bytes: Buffer<ArrayBuffer>, headers: Record<string, string>): OutgoingResponse {
    const kept = Object.entries(headers).filter(([name]) => /^x-amz-meta-|^content-(type|disposition)$/.test(name));
    const etag = `"${digest("md5", bytes)}"`;
    this.objects.set(at, { bytes, etag, headers: Object.fromEntries(kept) });
    return { status: 200, headers: { etag } };
  }

  #get(at: string, method: string, { range, "if-match": ifMatch }: Record<string, string>): OutgoingResponse {
    const found = this.objects.get(at);
    if (!found) return method === "HEAD" ? { status: 404 } : failed(404, "NoSuchKey");
    const { etag } = found;
    let { bytes } = found;
    if (ifMatch !== undefined && ifMatch !== etag) return failed(412, "PreconditionFailed");
    if (at === this.damaged) bytes = Buffer.from(bytes).fill("x", 0, 1);
    const headers = { ...found.headers, etag, "content-length": String(bytes.length) };
    if (method === "HEAD") return { status: 200, headers };
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    if (first === undefined) return { status: 200, headers, body: bytes };
    if (Number(first) >= bytes.length) return failed(416, "InvalidRange");
    const part = bytes.subarray(Number(first), Number(last) + 1);
    const contentRange = `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}`;
    return {
      status: 206,
      headers: { ...headers, "content-length": String(part.length), "content-range": contentRange },
      body: part,
    };
  }

  #list(bucket: string, query: URLSearchParams): OutgoingResponse {
    const [prefix, after] = [query.get("prefix") ?? "", query.get("continuation-token") ?? ""];
    const start = path.posix.join(bucket, "/");
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
    const rest = keys.filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = rest.slice(0, PAGE_KEYS);
    const contents = page.map((key) => {
      const { bytes, etag } = this.objects.get(start + key) as StoredObject;
      const texts = `<Key>${escapeXml(key)}</Key><Size>${bytes.length}</Size><ETag>${escapeXml(etag)}</ETag>`;
      return `<Contents>${texts}</Contents>`;
    });
    const next = rest.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    return { status: 200, body: `<ListBucketResult>${contents.join("")}${next}</ListBucketResult>` };
  }

  #multipart({ url, method, headers, body }: OutgoingRequest, at: string): OutgoingResponse {
    if (url.searchParams.has("uploads")) {
      const id = `upload-${++this.#begun}`;
      this.uploads.set(id, new Map());
      return { status: 200, body: `<UploadId>${id}</UploadId>` };
    }
    const id = url.searchParams.get("uploadId") ?? "";
    const parts = this.uploads.get(id);
    if (!parts) return failed(404, "NoSuchUpload");
    if (method === "PUT") {
      parts.set(Number(url.searchParams.get("partNumber")), body);
      return { status: 200, headers: { etag: `"${digest("md5", body)}"` } };
    }
    this.uploads.delete(id);
    if (method === "DELETE") return { status: 204 };
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, number]) => parts.get(Number(number)));
    const given = named.filter((part) => part !== undefined);
    if (given.length < named.length || given.length === 0) return failed(400, "InvalidPart");
    this.#put(at, Buffer.concat(given), headers);
    return { status: 200, body: "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>" };
  }
}

const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const hmac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text).digest();

/** AWS Signature Version 4, in the header or in the query of a presigned URL. */
function isSigned({ url, method, headers }: OutgoingRequest, nowMs: number): boolean {
  const isPresigned = url.searchParams.has("X-Amz-Signature");
  const given = (name: string, key: string) =>
    isPresigned
      ? (url.searchParams.get(`X-Amz-${key}`) ?? "")
      : (new RegExp(`${name}=([^, ]+)`).exec(headers.authorization ?? "")?.[1] ?? "");
  const time = (isPresigned ? url.searchParams.get("X-Amz-Date") : headers["x-amz-date"]) ?? "";
  const sentAtMs = Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const lifeMs = isPresigned ? 1_000 * Number(url.searchParams.get("X-Amz-Expires")) : MAX_SKEW_MS;
  if (!(nowMs < sentAtMs + lifeMs && nowMs > sentAtMs - MAX_SKEW_MS)) return false;
  const names = given("SignedHeaders", "SignedHeaders").split(";");
  const query = [...url.searchParams].filter(([name]) => name !== "X-Amz-Signature");
  const canonical = [
    method,
    url.pathname
      .split("/")
      .map((segment) => encode(decodeURIComponent(segment)))
      .join("/"),
    query
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .sort()
      .join("&"),
    ...names.map((name) => `${name}:${name === "host" ? url.host : (headers[name] ?? "").replace(/\s+/g, " ")}`),
    "",
    names.join(";"),
    isPresigned ? "UNSIGNED-PAYLOAD" : (headers["x-amz-content-sha256"] ?? ""),
  ].join("\n");
  const scope = [time.slice(0, 8), REGION, "s3", "aws4_request"];
  const key = scope.reduce<Buffer | string>(hmac, `AWS4${SECRET}`);
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), digest("sha256", canonical)].join("\n");
  const isOwn = given("Credential", "Credential") === [ACCESS_KEY_ID, ...scope].join("/");
  return isOwn && given("Signature", "Signature") === hmac(key, text).toString("hex");
}
