import { AppError } from "../../errors";
import { operation } from "../../operation";
import { METHODS } from "./route";

/**
 * Declares every method of a route that was replaced: it responds 410 and links to the successor (RFC 8288;
 * "successor-version" is RFC 5829, section 3.4). `name` follows the method in the operations' ids.
 */
export function retiredEndpoint(name: string, successor: string) {
  const declared = METHODS.map((method) => [
    method,
    operation({
      id: `${method.toLowerCase()}${name}`,
      summary: `Retired: use ${successor}`,
      description: `Use \`${successor}\`.`,
      deprecated: true,
      database: false,
      errors: ["endpoint_retired"],
      run: ({ ctx }): never => {
        throw new AppError("endpoint_retired", {
          detail: `Use ${successor} instead.`,
          headers: { Link: `<${ctx.config.baseUrl}${successor}>; rel="successor-version"` },
        });
      },
    }),
  ]);
  return Object.fromEntries(declared);
}
