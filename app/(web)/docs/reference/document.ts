import document from "@/public/openapi.json";

/** The JSON Schema keywords that the reference shows. */
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
  example?: unknown;
};
export type Content = Record<
  string,
  { schema?: Schema; examples?: Record<string, { summary: string; value: unknown }> }
>;
export type ResponseObject = { description: string; headers?: Record<string, unknown>; content?: Content };
type Reference = { $ref: string };
type OperationObject = {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  deprecated?: true;
  security: Record<string, never[]>[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, ResponseObject | Reference>;
};
/** A request that the service sends. */
export type WebhookObject = Omit<OperationObject, "deprecated">;
export type Operation = OperationObject & { method: string; path: string };
type Api = {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  webhooks: Record<string, { post: WebhookObject }>;
  components: {
    schemas: Record<string, Schema>;
    securitySchemes: Record<string, { type: string; in?: string; name?: string; description: string }>;
  };
};

export const api = document as unknown as Api;
/** HEAD and OPTIONS are not listed. */
const METHODS = ["get", "post", "put", "patch", "delete"];

/** Whether an operation has no other responses than errors any more. */
export const isRetired = ({ deprecated, responses }: OperationObject): boolean =>
  deprecated === true && Object.keys(responses).every((status) => Number(status) >= 400);

/** All operations. A retired path responds to every method alike and is listed once. */
export function allOperations(): Operation[] {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method];
      if (!operation || (isRetired(operation) && method !== "post")) return [];
      return [{ ...operation, method: isRetired(operation) ? "any" : method.toUpperCase(), path }];
    }),
  );
}

/** Resolves a `$ref` within the document. Returns other values unchanged. */
export function resolve<T extends object>(value: T | Reference): T {
  if (!("$ref" in value) || value.$ref === undefined) return value as T;
  const keys = value.$ref.slice("#/".length).split("/");
  return keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], api) as T;
}

/** The name of the schema that a `$ref` points to. */
export function nameOf({ $ref }: Schema): string | undefined {
  return $ref?.split("/").pop();
}

/** The error codes that a response's problem document may contain. */
export function errorCodesOf({ content }: ResponseObject): string[] {
  const { allOf = [] } = content?.["application/problem+json"]?.schema ?? {};
  return allOf.flatMap(({ properties }) => (properties?.code?.enum ?? []) as string[]);
}

/** Whether a response is more than a problem document; those are listed by their codes. */
export const hasOwnBody = (response: ResponseObject) =>
  errorCodesOf(response).length === 0 || Object.keys(response.content ?? {}).length > 1;
