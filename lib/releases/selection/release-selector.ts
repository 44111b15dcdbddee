import { AppError, type FieldError } from "../../errors";
import { BUILT_IN_VALUES, type SelectorName, type Snapshot } from "../catalog/snapshot";
import { normalizeArchitecture, type Platform } from "../schema";

/** What somebody wants, in the catalog's own words. */
export type ReleaseSelector = { platform: Platform; product: string; architecture: string; channel: string };

const PLATFORMS: ReadonlyMap<string, Platform> = new Map([
  ["windows", "windows"],
  ["win32", "windows"],
  ["macos", "macos"],
  ["darwin", "macos"],
  ["mac", "macos"],
  ["osx", "macos"],
]);

/** The platform that a name means, in any case: `win32`, `Darwin`; undefined for an unknown one. */
export function parsePlatform(name: string): Platform | undefined {
  return PLATFORMS.get(name.toLowerCase());
}

/**
 * Whether a query selects a release: it names a feed, or at least one of platform, product and architecture.
 * One that names only some of these three is refused by `readSelection`.
 */
export function isReleaseQuery(query: Partial<Record<SelectorName | "format", string>>): boolean {
  const { platform, product, architecture, format } = query;
  return (platform ?? product ?? architecture ?? format) !== undefined;
}

/**
 * Reads a selection: aliases, any case, channel `stable` where none is named.
 * @throws AppError invalid_query with `missing` and `allowed` for a partial one, with `allowed` for unknown
 * values; catalog_unavailable without a snapshot.
 */
export function parseReleaseSelector(
  query: Partial<Record<SelectorName, string>>,
  snapshot: Snapshot | null,
): ReleaseSelector {
  const { platform, product, architecture, channel = "stable" } = query;
  if (platform === undefined || product === undefined || architecture === undefined) {
    throw incomplete(query, snapshot?.knownValues ?? BUILT_IN_VALUES);
  }
  if (!snapshot) throw new AppError("catalog_unavailable");
  const wanted = {
    platform: parsePlatform(platform),
    product: product.toLowerCase(),
    architecture: normalizeArchitecture(architecture),
    channel: channel.toLowerCase(),
  };
  if (
    wanted.platform &&
    snapshot.knownValues.product.has(wanted.product) &&
    snapshot.knownValues.architecture.has(wanted.architecture) &&
    snapshot.knownValues.channel.has(wanted.channel)
  ) {
    return { ...wanted, platform: wanted.platform };
  }
  throw unknownValues(wanted, snapshot.knownValues);
}

function incomplete(query: Partial<Record<SelectorName, string>>, known: Snapshot["knownValues"]): AppError {
  const missing = (["platform", "product", "architecture"] as const).filter((name) => query[name] === undefined);
  return new AppError("invalid_query", {
    detail: "Platform, product and architecture go together.",
    errors: missing.map((name) => ({ pointer: `?${name}`, code: "required", detail: "Is needed here" })),
    members: { missing, allowed: allowed(missing, known) },
  });
}

function unknownValues(wanted: Record<SelectorName, string | undefined>, known: Snapshot["knownValues"]): AppError {
  const names = (["platform", "product", "architecture", "channel"] as const).filter(
    (name) => !known[name].has(wanted[name] ?? ""),
  );
  const errors: FieldError[] = names.map((name) => ({
    pointer: `?${name}`,
    code: "invalid_value",
    detail: `Must be one of ${[...known[name]].join(", ")}`,
  }));
  return new AppError("invalid_query", { errors, members: { allowed: allowed(names, known) } });
}

function allowed(names: readonly SelectorName[], known: Snapshot["knownValues"]): Record<string, string[]> {
  return Object.fromEntries(names.map((name) => [name, [...known[name]]]));
}
