import { readFileSync } from "node:fs";
import { z } from "zod";

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];
type Webhook = { parameters: { $ref: string }[]; requestBody: Required<Pick<Described, "content">> };
type Described = { $ref?: string; headers?: Record<string, unknown>; content?: Record<string, { schema?: object }> };
type Operation = { responses: Record<string, Described> };
type Api = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Webhook }>;
  components: {
    parameters: Record<string, { name: string }>;
    headers: object;
    responses: Record<string, Described>;
    schemas: object;
  };
};

const api = JSON.parse(readFileSync("public/openapi.json", "utf8")) as Api;
/** Fixed paths come before those with parameters (OpenAPI 3.1, 4.8.8.2). */
const paths = Object.entries(api.paths)
  .sort(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
  .map(([path, operations]) => ({ pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`), operations }));

/**
 * Checks a response against its operation in public/openapi.json: status, media type, body, and those headers that
 * the document describes anywhere.
 * @throws Error that names what the operation does not describe.
 */
export async function assertDescribed(method: string, pathname: string, response: Response): Promise<void> {
  if (!/^\/(?:api|\.well-known)(?:\/|$)/.test(pathname)) return; // pages and forms are not described
  const call = `${method} ${pathname} -> ${response.status}`;
  const operation = paths.find(({ pattern }) => pattern.test(pathname))?.operations[method.toLowerCase()];
  if (!operation) {
    if (response.status >= 400 && response.status < 500) return;
    throw new Error(`public/openapi.json lacks ${call}`);
  }
  const described = resolve(operation.responses[response.status]);
  if (!described) throw new Error(`public/openapi.json lacks ${call}`);
  const headers = Object.keys(api.components.headers).filter((name) => response.headers.has(name));
  const strays = headers.filter((name) => !described.headers?.[name]);
  if (strays.length > 0) throw new Error(`public/openapi.json lacks ${strays} of ${call}`);
  if (method !== "HEAD" && response.body) await assertBody(call, described, response);
}

/**
 * Checks a webhook that the service has sent against its event in public/openapi.json: headers and body.
 * @throws Error that names what the document does not describe.
 */
export function assertDescribedWebhook(headers: Record<string, unknown>, event: { type: string }): void {
  const described = api.webhooks[event.type]?.post;
  if (!described) throw new Error(`public/openapi.json lacks the webhook ${event.type}`);
  const names = described.parameters.map(({ $ref }) => api.components.parameters[$ref.split("/").pop() ?? ""]?.name);
  const signed = Object.keys(headers).filter((name) => name.startsWith("webhook-"));
  if (signed.sort().join() !== names.sort().join()) throw new Error(`The webhook has ${signed}, and not ${names}`);
  const parsed = schemaOf(described.requestBody.content["application/json"]?.schema ?? {}).safeParse(event);
  if (!parsed.success) throw new Error(`public/openapi.json does not describe ${event.type}: ${parsed.error}`);
}

async function assertBody(call: string, { content = {} }: Described, response: Response): Promise<void> {
  const mediaType = response.headers.get("content-type")?.split(";")[0] ?? "";
  // Over HTTP an empty body is a stream as well.
  if (mediaType === "" && (await response.clone().text()) === "") return;
  const found = content[mediaType] ?? content["*/*"];
  if (!found) throw new Error(`public/openapi.json lacks ${mediaType || "a body"} of ${call}`);
  if (!found.schema || !mediaType.endsWith("json")) return;
  const parsed = schemaOf(found.schema).safeParse(await response.clone().json());
  if (!parsed.success) throw new Error(`public/openapi.json does not describe the body of ${call}: ${parsed.error}`);
}

function resolve(described: Described | undefined): Described | undefined {
  const name = described?.$ref?.split("/").pop();
  return name === undefined ? described : api.components.responses[name];
}

const schemas = new WeakMap<object, z.ZodType>();
const $defs = withLocalRefs(api.components.schemas);

/** Returns the zod schema of a JSON Schema in the document. Each is converted once. */
function schemaOf(described: object): z.ZodType {
  const made = schemas.get(described) ?? z.fromJSONSchema({ ...withLocalRefs(described), $defs } as JsonSchema);
  schemas.set(described, made);
  return made;
}

function withLocalRefs(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/"));
}
