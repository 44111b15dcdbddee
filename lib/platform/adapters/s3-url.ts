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
