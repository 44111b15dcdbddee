import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const pathOf = (file) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const DOCUMENT = pathOf("public/openapi.json");
const ADMIN = "/api/admin/";
/** The paths that commands use besides. */
const OTHERS = ["/api/auth/oauth/token", "/api/version"];
/** The files that are made of the OpenAPI document, and what writes them. */
const FILES = {
  "clients/js/src/api.generated.ts": typesForClients,
  "scripts/homeport/transport/operations.generated.ts": typesForCommands,
  "scripts/homeport/transport/places.generated.ts": placesForCommands,
};

/** Writes the types of the API for the JavaScript client and for commands, where the OpenAPI document is newer. */
export async function writeApiTypes() {
  for (const [name, textOf] of Object.entries(FILES)) {
    const file = pathOf(name);
    if (existsSync(file) && statSync(file).mtimeMs >= statSync(DOCUMENT).mtimeMs) continue;
    writeFileSync(file, await textOf(JSON.parse(readFileSync(DOCUMENT, "utf8"))));
  }
}

/** The API without operators' operations, by path, and the codes of errors. */
async function typesForClients(document) {
  const codes = document.components.schemas.Problem.properties.code.examples;
  const types = await typesOf(
    document,
    (path) => !path.startsWith(ADMIN),
    ({ operationId: _, ...operation }) => operation,
  );
  return `${types}
/** The codes of problem documents. */
export type ProblemCode = ${codes.map((code) => JSON.stringify(code)).join(" | ")};
`;
}

/** Operators' operations by id, without the paths. */
async function typesForCommands(document) {
  const { webhooks: _, ...without } = document;
  const types = await typesOf(without, (path) => path.startsWith(ADMIN));
  return types.replace(/^export interface paths \{.*?^\}\n/ms, "");
}

/** The method and path of each operation that commands call: a small table, because each of them loads it. */
function placesForCommands({ paths }) {
  const places = Object.entries(paths)
    .filter(([path]) => path.startsWith(ADMIN) || OTHERS.includes(path))
    .flatMap(([path, { parameters: _, options: __, ...operations }]) =>
      Object.entries(operations).map(
        ([method, { operationId }]) => `  ${operationId}: "${method.toUpperCase()} ${path}",\n`,
      ),
    );
  return `export const PLACES = {\n${places.join("")}} as const;\n`;
}

/** The types of the operations whose paths `isIncluded` names, without what a typed request does not need. */
async function typesOf(
  { paths, webhooks = {}, components, ...document },
  isIncluded,
  change = (operation) => operation,
) {
  const { default: toTypes } = await import("openapi-typescript");
  const included = Object.entries(paths).filter(([path]) => isIncluded(path));
  const operationsOf = (item) =>
    Object.fromEntries(
      Object.entries(methodsOf(item)).map(([method, operation]) => [method, change(withoutHeaders(operation))]),
    );
  return toTypes({
    ...document,
    paths: Object.fromEntries(included.map(([path, item]) => [path, operationsOf(item)])),
    webhooks: Object.fromEntries(Object.entries(webhooks).map(([type, item]) => [type, operationsOf(item)])),
    components: { schemas: components.schemas },
  });
}

const methodsOf = ({ parameters: _, head: __, options: ___, ...operations }) => operations;

function withoutHeaders({ parameters = [], responses, ...operation }) {
  return {
    ...operation,
    parameters: parameters.filter((one) => one.in === "path" || one.in === "query"),
    responses: Object.fromEntries(
      Object.entries(responses)
        .filter(([status]) => status < 300)
        .map(([status, { headers: _, ...response }]) => [status, response]),
    ),
  };
}
