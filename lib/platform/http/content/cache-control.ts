import type { Caching } from "../../response-content";

/** The `Cache-Control` of a download (RFC 9111, section 5.2.2). */
export const DOWNLOAD_CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  immutable: "public, max-age=31536000, immutable",
  shared: "public, max-age=60",
  "per-client": "private, no-cache",
  never: "no-store",
};

/**
 * The `Cache-Control` of a document. Caches may send an old one while they fetch the new one (RFC 5861, section 3): its
 * client only learns of an update one check later. An old download would be installed.
 */
export const DOCUMENT_CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  ...DOWNLOAD_CACHE_CONTROL,
  shared: `${DOWNLOAD_CACHE_CONTROL.shared}, stale-while-revalidate=300`,
};
