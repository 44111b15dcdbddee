import { METHODS, type Method, type OperationDetails } from "./operation";

/** Describes every method of a route that was replaced. `name` follows the method in the operation ids. */
export function retired(name: string, successor: string): Record<Method, OperationDetails> {
  const described = METHODS.map((method): [Method, OperationDetails] => [
    method,
    {
      operationId: `${method.toLowerCase()}${name}`,
      description: `Use \`${successor}\`.`,
      deprecated: true,
      responses: {},
    },
  ]);
  return Object.fromEntries(described) as Record<Method, OperationDetails>;
}
