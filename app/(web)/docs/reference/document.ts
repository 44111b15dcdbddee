import document from "@/public/openapi.json";

/** What of a JSON Schema the reference shows. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minLength?: number;
  maxLength?: number;
  examples?: unknown[];
};
export type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: string;
};
export type Content = Record<
  string,
  { schema?: Schema; examples?: Record<string, { summary: string; value: unknown }> }
>;
export type Answer = { description: string; headers?: Record<string, unknown>; content?: Content };
type Reference = { $ref: string };
type Described = {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  deprecated?: true;
  security: Record<string, never[]>[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Answer | Reference>;
};
export type Operation = Described & { method: string; path: string };
type Api = {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Described>>;
  components: {
    schemas: Record<string, Schema>;
    securitySchemes: Record<string, { description: string }>;
  };
};

export const api = document as unknown as Api;
/** HEAD and OPTIONS go without saying. */
const METHODS = ["get", "post", "put", "patch", "delete"];

/** A group's operations. A retired path answers every method alike, and stands here once. */
export function operationsOf(tag: string): Operation[] {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const described = methods[method];
      if (described?.tags[0] !== tag || (described.deprecated && method !== "post")) return [];
      return [{ ...described, method: described.deprecated ? "any" : method.toUpperCase(), path }];
    }),
  );
}

/** What a reference into the document leads to; anything else is what it is. */
export function resolve<T extends object>(found: T | Reference): T {
  if (!("$ref" in found) || found.$ref === undefined) return found as T;
  const parts = found.$ref.slice("#/".length).split("/");
  return parts.reduce<unknown>((node, part) => (node as Record<string, unknown>)[part], api) as T;
}

/** The name of the schema that a reference leads to. */
export function nameOf({ $ref }: Schema): string | undefined {
  return $ref?.split("/").pop();
}

/** The codes of the problem that an answer may carry. */
export function codesOf({ content }: Answer): string[] {
  const { allOf = [] } = content?.["application/problem+json"]?.schema ?? {};
  return allOf.flatMap(({ properties }) => (properties?.code?.enum ?? []) as string[]);
}
