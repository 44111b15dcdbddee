import { AwsClient } from "aws4fetch";
import { unescapeXml } from "../unescape-xml";
import { type Bucket, errorCodeOf, objectUrl } from "./s3";

/** S3's multipart upload takes 10,000 parts of at least 5 MiB: the objects have up to 160 GiB. */
const PART_BYTES = 16 * 1024 * 1024;
/** For a request that failed with 429 or 5xx. Each retry waits longer than the one before. */
const MAX_RETRIES = 4;
const TIMEOUT_MS = 300_000;

type S3Object = { key: string; sizeBytes: number; etag: string };

/** Files in a bucket, of a size that is not known before they are written. */
export type S3Files = {
  /** Stores an object. It exists once it is complete. Returns its size. @throws Error if the storage rejects it */
  write: (key: string, chunks: AsyncIterable<Uint8Array>) => Promise<number>;
  /** Reads an object in parts. @throws Error if it does not exist, or changes while it is read */
  read: (key: string) => AsyncIterable<Uint8Array>;
  list: (prefix: string) => Promise<S3Object[]>;
  /** The headers of an object; null if there is none. */
  head: (key: string) => Promise<Headers | null>;
  remove: (key: string) => Promise<void>;
};

/** `expected`: statuses besides 2xx that are no error. */
type Send = (
  method: string,
  key: string,
  query: Record<string, string>,
  init?: RequestInit,
  expected?: readonly number[],
) => Promise<Response>;

/** Opens a bucket for files: multipart uploads, listing and deletion (Amazon S3 API Reference). */
export function createS3Files(bucket: Bucket): S3Files {
  const { accessKeyId, secretAccessKey, region } = bucket;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: MAX_RETRIES });
  const send: Send = async (method, key, query, init = {}, expected = []) => {
    const url = objectUrl(bucket, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await client.fetch(url.href, { method, signal, redirect: "error", ...init });
    if (response.ok || expected.includes(response.status)) return response;
    throw new Error(`The storage returned status ${response.status}${errorCodeOf(await response.text())}`);
  };
  return {
    write: (key, chunks) => uploadParts(send, key, chunks),
    read: (key) => downloadParts(send, key),
    list: (prefix) => listObjects(send, prefix),
    head: async (key) => {
      const response = await send("HEAD", key, {}, {}, [404]);
      return response.ok ? response.headers : null;
    },
    remove: async (key) => void (await send("DELETE", key, {})),
  };
}

async function uploadParts(send: Send, key: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const started = await (await send("POST", key, { uploads: "" })).text();
  const uploadId = elements(started, "UploadId")[0];
  if (uploadId === undefined) throw new Error("The storage did not start a multipart upload");
  try {
    let sizeBytes = 0;
    const etags: string[] = [];
    for await (const part of parts(chunks)) {
      const query = { partNumber: String(etags.length + 1), uploadId };
      etags.push((await send("PUT", key, query, { body: part })).headers.get("etag") ?? "");
      sizeBytes += part.length;
    }
    const list = etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
    const xml = `<CompleteMultipartUpload>${list.join("")}</CompleteMultipartUpload>`;
    const text = await (await send("POST", key, { uploadId }, { body: xml })).text();
    // Its status is sent before the parts are joined.
    if (text.includes("<Error>")) throw new Error(`The storage did not complete the upload${errorCodeOf(text)}`);
    return sizeBytes;
  } catch (error) {
    await send("DELETE", key, { uploadId }).catch(() => {}); // the parts would be stored and charged for
    throw error;
  }
}

/** Each part is a request of its own, so that the time limit is that of a part. */
async function* downloadParts(send: Send, key: string): AsyncIterable<Uint8Array> {
  let etag: string | null = null;
  for (let [start, size] = [0, 1]; start < size; start += PART_BYTES) {
    const headers = { range: `bytes=${start}-${start + PART_BYTES - 1}`, ...(etag && { "if-match": etag }) };
    const response = await send("GET", key, {}, { headers });
    yield new Uint8Array(await response.arrayBuffer());
    etag = response.headers.get("etag");
    size = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1] ?? 0); // 0: that was all
  }
}

/** Joins chunks to parts of 16 MiB; the last one is smaller. */
async function* parts(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Buffer<ArrayBuffer>> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    waitingBytes += chunk.length;
    if (waitingBytes < PART_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
  }
  if (waitingBytes > 0) yield Buffer.concat(waiting);
}

async function listObjects(send: Send, prefix: string): Promise<S3Object[]> {
  const objects: S3Object[] = [];
  for (let token: string | undefined = ""; token !== undefined; ) {
    const query: Record<string, string> = { "list-type": "2", prefix, ...(token && { "continuation-token": token }) };
    const text: string = await (await send("GET", "", query)).text();
    const [keys, sizes, etags] = ["Key", "Size", "ETag"].map((name) => elements(text, name));
    objects.push(...(keys ?? []).map((key, i) => ({ key, sizeBytes: Number(sizes?.[i]), etag: etags?.[i] ?? "" })));
    token = elements(text, "NextContinuationToken")[0];
  }
  return objects;
}

/** The texts of the elements with a name, in S3's XML documents. */
function elements(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"));
  return [...found].map(([, text = ""]) => unescapeXml(text));
}
