import type { OperationDetails } from "./operation";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Describes every method of a route that was replaced. `name` follows the method in the operation ids. */
export function retired(name: string, successor: string): Record<(typeof METHODS)[number], OperationDetails> {
  const described = METHODS.map((method): [string, OperationDetails] => [
    method,
    {
      operationId: `${method.toLowerCase()}${name}`,
      description: `Use \`${successor}\`.`,
      deprecated: true,
      responses: {},
    },
  ]);
  return Object.fromEntries(described) as Record<(typeof METHODS)[number], OperationDetails>;
}
