/** The page of a version in the console. */
export function versionPath({ product, channel, version }: Record<"product" | "channel" | "version", string>): string {
  return `/console/releases/${[product, channel, version].map(encodeURIComponent).join("/")}`;
}
