import type { Context } from "../context";
import { AppError } from "../errors";

/**
 * Refuses a call to a retired route and names the one that took its place (RFC 8288; "successor-version" is
 * RFC 5829, section 3.4). @throws AppError endpoint_retired, always.
 */
export function refuseRetired({ config }: Pick<Context, "config">, successor: string): never {
  throw new AppError("endpoint_retired", {
    detail: `Use ${successor} instead.`,
    headers: { Link: `<${config.baseUrl}${successor}>; rel="successor-version"` },
  });
}
