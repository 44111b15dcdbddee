import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCUMENT = fileURLToPath(new URL("../../../public/openapi.json", import.meta.url));
const TYPES = fileURLToPath(new URL("../src/api.generated.ts", import.meta.url));

/** Writes the types of the API, if the OpenAPI document is newer than they are. */
export async function generateTypes() {
  if (existsSync(TYPES) && statSync(TYPES).mtimeMs >= statSync(DOCUMENT).mtimeMs) return;
  const document = JSON.parse(readFileSync(DOCUMENT, "utf8"));
  const codes = document.components.schemas.Problem.properties.code.examples;
  const { default: toTypes } = await import("openapi-typescript");
  writeFileSync(
    TYPES,
    `${await toTypes(forClients(document))}
/** The codes of problem documents. */
export type ProblemCode = ${codes.map((code) => JSON.stringify(code)).join(" | ")};
`,
  );
}

/** The document without operators' routes, and without what a typed request does not need. */
function forClients({ paths, components, ...document }) {
  const ofClients = Object.entries(paths).filter(([path]) => !path.startsWith("/api/admin"));
  return {
    ...document,
    paths: Object.fromEntries(ofClients.map(([path, item]) => [path, operationsOf(item)])),
    components: { schemas: components.schemas },
  };
}

function operationsOf({ parameters: _, head: __, options: ___, ...operations }) {
  return Object.fromEntries(
    Object.entries(operations).map(([method, { parameters = [], responses, operationId: _, ...operation }]) => [
      method,
      {
        ...operation,
        parameters: parameters.filter((one) => one.in === "path" || one.in === "query"),
        responses: Object.fromEntries(
          Object.entries(responses)
            .filter(([status]) => status < 300)
            .map(([status, { headers: _, ...response }]) => [status, response]),
        ),
      },
    ]),
  );
}
