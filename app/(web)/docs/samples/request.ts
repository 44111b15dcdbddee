import { api, type Operation, type Parameter, resolve, type Schema } from "../reference/document";

/** An example request of an operation. Header values may name shell variables, such as `$TOKEN`. */
export type SampleRequest = {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  /** JSON, the fields of a form, or the content of a file. */
  body?: { json: unknown } | { form: Record<string, string> } | { fileOfType: string };
};

/** The example of an operation: its required parameters, its credentials, and the first example of its body. */
export function sampleRequest(operation: Operation, baseUrl: string): SampleRequest {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve<Parameter>(parameter));
  const required = parameters.filter((parameter) => parameter.required);
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(exampleOf(parameters.find((parameter) => parameter.name === name))),
  );
  const query = required.filter((parameter) => parameter.in === "query");
  const search = new URLSearchParams(query.map((parameter) => [parameter.name, exampleOf(parameter)])).toString();
  const body = bodyOf(operation);
  const mediaType = body && mediaTypeOf(body);
  return {
    method: operation.method === "any" ? "POST" : operation.method,
    url: `${baseUrl}${path}${search && `?${search}`}`,
    headers: [
      ...credentials(operation),
      ...required
        .filter((parameter) => parameter.in === "header")
        .map((parameter): [string, string] => [parameter.name, exampleOf(parameter)]),
      ...(mediaType ? [["Content-Type", mediaType] satisfies [string, string]] : []),
    ],
    ...(body && { body }),
  };
}

/** An example of a parameter's value, as text. */
export function exampleOf(parameter: Parameter | undefined): string {
  if (!parameter) return "";
  const { example, schema, name } = parameter;
  return String(example ?? exampleValue(resolve<Schema>(schema)) ?? name);
}

/** A value of a schema: its example, default or first choice. */
function exampleValue(schema: Schema): unknown {
  return schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0] ?? placeholderOf(schema);
}

function placeholderOf({ type, format }: Schema): unknown {
  if (format === "uuid") return "0190f5a2-7d1b-7c4e-9a53-1f2e3d4c5b6a";
  const values: Record<string, unknown> = { integer: 1, number: 1, boolean: true, array: [], object: {} };
  return values[String([type].flat()[0])];
}

function bodyOf({ requestBody }: Operation): SampleRequest["body"] {
  const content = requestBody?.content ?? {};
  const [json, form] = [content["application/json"], content["application/x-www-form-urlencoded"]];
  const exampleIn = ({ examples = {}, schema = {} }: NonNullable<typeof json>) =>
    Object.values(examples)[0]?.value ?? objectOf(resolve<Schema>(schema));
  if (form) return { form: exampleIn(form) as Record<string, string> };
  if (json) return { json: exampleIn(json) };
  const [fileOfType] = Object.keys(content);
  return fileOfType === undefined ? undefined : { fileOfType };
}

function mediaTypeOf(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return body.fileOfType;
  return "json" in body ? "application/json" : "application/x-www-form-urlencoded";
}

function objectOf({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  const names = Object.keys(properties).filter((name) => required.includes(name));
  return Object.fromEntries(names.map((name) => [name, exampleValue(resolve<Schema>(properties[name] ?? {})) ?? ""]));
}

/** The header that authenticates the request, with a variable for its secret. */
function credentials({ security }: Operation): [string, string][] {
  const schemes = security.flatMap((requirement) => Object.keys(requirement));
  if (schemes.includes("apiKey")) return [["Authorization", "Bearer $API_KEY"]];
  if (schemes.includes("bearer")) return [["Authorization", "Bearer $TOKEN"]];
  const header = schemes.includes("webhookAuthorization")
    ? "webhookAuthorization"
    : schemes.find((name) => api.components.securitySchemes[name]?.in === "header");
  const name = header && api.components.securitySchemes[header]?.name;
  return name ? [[name, "$WEBHOOK_AUTHORIZATION"]] : [];
}
