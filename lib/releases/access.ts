import { isDeepStrictEqual } from "node:util";
import { AppError } from "../errors";
import type { Operator, ReleaseAccess } from "../principal";
import { servedFiles } from "./release-files";
import type { Release } from "./schema";

type Target = { product: string; channel: string };

/** Who reads releases: all of them without `releaseAccess`, as a person who operates the service. */
export type ReleaseReader = Pick<Operator, "releaseAccess">;

/** A filter of releases, limited to those that a caller may read and change. */
export type WithAccess<Filter> = Filter & { access?: ReleaseAccess };

/** Whether a caller may read and change a release. */
export function isAccessible(access: ReleaseAccess | undefined, { product, channel }: Target): boolean {
  return !access || (access.products.includes(product) && (access.channel ?? channel) === channel);
}

/** Limits a filter to the releases that a caller may read and change. There are no others for this caller. */
export function withAccess<Filter extends object>(
  { releaseAccess: access }: ReleaseReader,
  filter: Filter,
): WithAccess<Filter> {
  return access ? { ...filter, access } : filter;
}

/** Requires that a caller may add releases to a product and channel. @throws AppError forbidden */
export function requireReleaseAccess(access: ReleaseAccess | undefined, target: Target): void {
  if (!access || isAccessible(access, target)) return;
  const own = `${access.products.join(", ")}${access.channel === null ? "" : ` on the channel ${access.channel}`}`;
  const detail = `You may publish ${own}, not ${target.product} on the channel ${target.channel}.`;
  throw new AppError("forbidden", { detail });
}

/** Requires that a caller of one channel leaves the public keys as they are while other channels need them. @throws AppError forbidden */
export function requireKeyAccess(
  access: ReleaseAccess | undefined,
  before: { publicKeys: object; releases: readonly Target[] },
  publicKeys: object,
): void {
  const isForeign = (one: Target) => access?.products.includes(one.product) && !isAccessible(access, one);
  if (isDeepStrictEqual(before.publicKeys, publicKeys) || !before.releases.some(isForeign)) return;
  const detail = `The public keys are those of all channels, and you may publish on ${access?.channel} alone.`;
  throw new AppError("forbidden", { detail });
}

/**
 * Whether the uploads of a caller of some products take the room of the other products: less than a quarter of the space for
 * releases would be free, and the caller's products would have more than their share of it. Pure.
 */
export function exceedsShare(
  { products }: ReleaseAccess,
  releases: readonly Release[],
  { freeBytes, uploads }: { freeBytes: number; uploads: readonly { sizeBytes: number; offsetBytes: number }[] },
): boolean {
  const files = new Map(
    releases.flatMap((release) =>
      servedFiles(release).flatMap(({ file, sizeBytes }) =>
        file === undefined ? [] : [[file, { sizeBytes, product: release.product }] as const],
      ),
    ),
  );
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  const stored = [...files.values()];
  const arrivedBytes = sum(uploads.map(({ offsetBytes }) => offsetBytes));
  const spaceBytes = freeBytes + arrivedBytes + sum(stored.map(({ sizeBytes }) => sizeBytes));
  const isOwn = ({ product }: { product: string }) => products.includes(product);
  const ownBytes = sum(stored.filter(isOwn).map(({ sizeBytes }) => sizeBytes));
  const pendingBytes = sum(uploads.map(({ sizeBytes }) => sizeBytes));
  const leftBytes = freeBytes + arrivedBytes - pendingBytes;
  const share = products.length / new Set([...products, ...releases.map(({ product }) => product)]).size;
  return leftBytes < spaceBytes / 4 && ownBytes + pendingBytes > spaceBytes * share;
}
