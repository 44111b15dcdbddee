import document from "@/public/openapi.json";

/** The JSON Schema keywords that requests are made from. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
};
type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
  example?: unknown;
};
type Content = Record<string, { schema?: Schema; examples?: Record<string, { value: unknown }> }>;
export type Operation = {
  id: string;
  method: string;
  path: string;
  security: Record<string, never[]>[];
  parameters: Parameter[];
  content: Content;
  /** Whether a status is the operation's success. Retired operations and pages that redirect have no 2xx. */
  isSuccess: (status: number) => boolean;
};

const METHODS = ["get", "head", "post", "put", "patch", "delete", "options"];
// biome-ignore lint/suspicious/noExplicitAny: the document is as it is
const api = document as any;

export function resolve<T extends object>(value: T): T {
  const { $ref } = value as { $ref?: string };
  return $ref === undefined
    ? value
    : $ref
        .slice(2)
        .split("/")
        .reduce((node, key) => node[key], api);
}

/** Every operation of public/openapi.json. */
export const operations: Operation[] = Object.entries(api.paths).flatMap(([path, methods]) =>
  METHODS.flatMap((method) => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is as it is
    const operation = (methods as any)[method];
    if (!operation) return [];
    const statuses = Object.keys(operation.responses).map(Number);
    const best = Math.floor(Math.min(...statuses) / 100);
    return {
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      security: operation.security ?? [],
      parameters: (operation.parameters ?? []).map(resolve),
      content: operation.requestBody?.content ?? {},
      isSuccess: (status: number) => Math.floor(status / 100) === best && statuses.includes(status),
    };
  }),
);
