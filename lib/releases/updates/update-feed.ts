import { createHash } from "node:crypto";
import type { SemVer } from "semver";
import type { Config } from "../../config";
import type { DocumentContent } from "../../response-content";
import type { Snapshot } from "../catalog/snapshot";
import type { Catalog } from "../catalog/watch";
import type { UpdateQuery } from "../http-schema";

/** What a client requests below `/api/updates/{product}/{channel}/`. */
export type UpdateRequest = {
  /** For feeds that `/api/version` has too. */
  deps: { catalog: Catalog; config: Pick<Config, "baseUrl" | "build"> };
  snapshot: Snapshot;
  /** Both are known to the catalog. */
  product: string;
  channel: string;
  /** Decides on rollouts. */
  clientId: string | undefined;
  /** The installed version. */
  current: SemVer | undefined;
  query: UpdateQuery;
};

/** A document that an updater requests by a fixed name. */
export type UpdateFeed = {
  /** Matches the path below the channel. Its named groups are the `names`. */
  pattern: RegExp;
  /** Returns null if there is no release, or if the name means nothing in this catalog. */
  resolve: (request: UpdateRequest, names: Partial<Record<string, string>>) => DocumentContent | null;
};

/** A rendered feed. `isClientSpecific`: another client could get another one. */
export type RenderedFeed = { text: string; contentType: string; isClientSpecific: boolean };

/** A feed with its entity tag. */
export function toDocument({ text, contentType, isClientSpecific }: RenderedFeed): DocumentContent {
  const bytes = Buffer.from(text);
  const etag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const caching = isClientSpecific ? "per-client" : "shared";
  return { text, contentType, etag, sizeBytes: bytes.length, caching };
}
