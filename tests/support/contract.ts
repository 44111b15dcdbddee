import { readFileSync } from "node:fs";

type Content = { schema: { $ref?: string; allOf?: { properties?: { code?: { enum?: string[] } } }[] } };
type Described = { $ref?: string; content?: Record<string, Content> };
type Operation = { responses: Record<string, Described> };
type Api = { paths: Record<string, Record<string, Operation>>; components: { responses: Record<string, Described> } };

const api = JSON.parse(readFileSync("public/openapi.json", "utf8")) as Api;
/** Fixed paths come before those with parameters. */
const paths = Object.entries(api.paths)
  .sort(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
  .map(([path, operations]) => ({
    pattern: new RegExp(`^${path.replace(/\{nextauth\}/, ".+").replace(/\{\w+\}/g, "[^/]+")}$`),
    operations,
  }));

/**
 * Holds an answer against public/openapi.json: its status, its media type and, of a problem, its code are among
 * those that the operation names. @throws Error that says what is not described.
 */
export async function holdAgainstDescription(method: string, pathname: string, response: Response): Promise<void> {
  const operation = operationFor(method, pathname);
  if (!operation) return; // nothing is described there: another method, or a path that nobody has
  const told = `${method} ${pathname} -> ${response.status}`;
  const described = resolve(operation.responses[response.status]);
  if (!described) throw new Error(`public/openapi.json has no ${told}`);
  if (method === "HEAD") return;
  const mediaType = response.headers.get("content-type")?.split(";")[0];
  if (!mediaType || !described.content) return;
  const content = described.content[mediaType];
  if (!content) throw new Error(`public/openapi.json has no ${mediaType} for ${told}`);
  if (mediaType !== "application/problem+json") return;
  const { code } = (await response.clone().json()) as { code: string };
  const codes = content.schema.allOf?.flatMap(({ properties }) => properties?.code?.enum ?? []) ?? [];
  if (!codes.includes(code)) throw new Error(`public/openapi.json has no ${code} for ${told}`);
}

function operationFor(method: string, pathname: string): Operation | undefined {
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  return paths.find(({ pattern, operations }) => operations[verb] && pattern.test(pathname))?.operations[verb];
}

function resolve(described: Described | undefined): Described | undefined {
  const name = described?.$ref?.split("/").pop();
  return name === undefined ? described : api.components.responses[name];
}
