import { AppError } from "../../errors";
import { operation } from "../../operation";
import { METHODS } from "./route";

/** The day of version 1.0.0, which had these routes as retired ones. */
const RETIRED_ON = "2026-11-22";

/** Declares every method of a route that was replaced: it responds 410. `name` follows the method in the operations' ids. */
export function retiredEndpoint(name: string, successor: string) {
  const declared = METHODS.map((method) => [
    method,
    operation({
      id: `${method.toLowerCase()}${name}`,
      summary: `Retired: use ${successor}`,
      description: `Use \`${successor}\`.`,
      deprecated: { since: RETIRED_ON, sunset: RETIRED_ON, successor },
      database: false,
      errors: ["endpoint_retired"],
      run: (): never => {
        throw new AppError("endpoint_retired", { detail: `Use ${successor} instead.` });
      },
    }),
  ]);
  return Object.fromEntries(declared);
}
