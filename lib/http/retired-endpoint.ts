import { AppError } from "../errors";
import { endpoint } from "./endpoint";
import { forEveryMethod } from "./route";

/**
 * Declares every method of a route that was replaced: it responds 410 and links to the successor (RFC 8288;
 * "successor-version" is RFC 5829, section 3.4).
 */
export function retiredEndpoint(successor: string) {
  return forEveryMethod(
    endpoint({
      summary: `Retired: use ${successor}`,
      database: false,
      errors: ["endpoint_retired"],
      responses: {},
      handle: ({ ctx }): never => {
        throw new AppError("endpoint_retired", {
          detail: `Use ${successor} instead.`,
          headers: { Link: `<${ctx.config.baseUrl}${successor}>; rel="successor-version"` },
        });
      },
    }),
  );
}
