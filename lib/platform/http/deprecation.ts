import type { Deprecation } from "../../operation";
import type { Config } from "../config";
import type { ResponseHeaders } from "../http-message";

/** The headers of every response of a deprecated operation. */
export const DEPRECATION_HEADERS = ["Deprecation", "Sunset", "Link"] as const;

/**
 * Since when the operation is deprecated (RFC 9745, section 2.1), when it ends (RFC 8594, section 3), and what replaces
 * it (RFC 8288; "successor-version" is RFC 5829, section 3.4).
 */
export function deprecationHeaders(
  { since, sunset, successor }: Deprecation,
  { baseUrl }: Pick<Config, "baseUrl">,
): Record<(typeof DEPRECATION_HEADERS)[number], string> & ResponseHeaders {
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    Link: `<${baseUrl}${successor}>; rel="successor-version"`,
  };
}
