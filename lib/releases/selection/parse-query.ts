import { AppError } from "../../errors";
import { BUILT_IN_VALUES, type SelectorName, type Snapshot } from "../catalog/snapshot";
import { normalizeArchitecture, type Platform, parsePlatform } from "../platforms";

/** The releases that a client asks for, in the catalog's canonical names. */
export type ReleaseSelector = { platform: Platform; product: string; architecture: string; channel: string };

type SelectorQuery = Partial<Record<SelectorName, string>>;

/** Whether a query asks for a release: it names a format, a platform, a product or an architecture. */
export function isReleaseQuery(query: SelectorQuery & { format?: string | undefined }): boolean {
  const { platform, product, architecture, format } = query;
  return (platform ?? product ?? architecture ?? format) !== undefined;
}

/**
 * Parses a query's selector: aliases, case-insensitive, channel `stable` by default.
 * @throws AppError invalid_query with `missing` and `allowed` for an incomplete selector, with `allowed` for unknown
 *   values; catalog_unavailable without a snapshot.
 */
export function parseReleaseSelector(query: SelectorQuery, snapshot: Snapshot | null): ReleaseSelector {
  const { platform, product, architecture, channel = "stable" } = query;
  if (platform === undefined || product === undefined || architecture === undefined) {
    throw incompleteSelector(query, snapshot?.knownValues ?? BUILT_IN_VALUES);
  }
  if (!snapshot) throw new AppError("catalog_unavailable");
  const { knownValues } = snapshot;
  const selector = {
    platform: parsePlatform(platform),
    product: product.toLowerCase(),
    architecture: normalizeArchitecture(architecture),
    channel: channel.toLowerCase(),
  };
  if (
    selector.platform &&
    knownValues.product.has(selector.product) &&
    knownValues.architecture.has(selector.architecture) &&
    knownValues.channel.has(selector.channel)
  ) {
    return { ...selector, platform: selector.platform };
  }
  throw unknownValues(selector, knownValues);
}

function incompleteSelector(query: SelectorQuery, knownValues: Snapshot["knownValues"]): AppError {
  const missing = (["platform", "product", "architecture"] as const).filter((name) => query[name] === undefined);
  return new AppError("invalid_query", {
    detail: "platform, product and architecture are required together.",
    errors: missing.map((name) => ({ pointer: `?${name}`, code: "required", detail: "Is required" })),
    fields: { missing, allowed: pickValues(missing, knownValues) },
  });
}

function unknownValues(
  selector: Record<SelectorName, string | undefined>,
  knownValues: Snapshot["knownValues"],
): AppError {
  const names = (["platform", "product", "architecture", "channel"] as const).filter(
    (name) => !knownValues[name].has(selector[name] ?? ""),
  );
  return notAllowed(pickValues(names, knownValues));
}

/** The error for query parameters whose values are not `allowed`. */
export function notAllowed(allowed: Record<string, readonly string[]>): AppError {
  const errors = Object.entries(allowed).map(([name, values]) => {
    const detail = `Must be one of ${values.join(", ")}`;
    return { pointer: `?${name}`, code: "invalid_value", detail };
  });
  return new AppError("invalid_query", { errors, fields: { allowed } });
}

function pickValues(names: readonly SelectorName[], knownValues: Snapshot["knownValues"]): Record<string, string[]> {
  return Object.fromEntries(names.map((name) => [name, [...knownValues[name]]]));
}
