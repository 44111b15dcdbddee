import { api, nameOf, operationsOf } from "./reference/document";
import { OperationCard } from "./reference/operation";
import { Members, Type } from "./reference/schema";
import { Text } from "./reference/text";
import "../styles/reference.css";

export const metadata = { title: "API reference" };

const GROUPS = api.tags.map((tag) => ({ ...tag, operations: operationsOf(tag.name) }));

export default function Page() {
  return (
    <>
      <h1>API reference</h1>
      <p className="lead">
        Everything that the service answers, from <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1): for client
        generators, linters and your own tools. <a href="/docs/errors">The errors</a> have a page of their own.
      </p>
      <Text block>{api.info.description}</Text>
      <Contents />
      {GROUPS.map(({ name, description, operations }) => (
        <section key={name} aria-labelledby={`tag-${name}`}>
          <h2 id={`tag-${name}`}>{name}</h2>
          <p>{description}</p>
          {operations.map((operation) => (
            <OperationCard key={operation.operationId} operation={operation} />
          ))}
        </section>
      ))}
      <Proofs />
      <Schemas />
    </>
  );
}

function Contents() {
  return (
    <nav className="card contents" aria-label="Operations">
      {GROUPS.map(({ name, operations }) => (
        <div key={name}>
          <a href={`#tag-${name}`}>{name}</a>
          <ul>
            {operations.map(({ operationId, method, path }) => (
              <li key={operationId}>
                <a href={`#${operationId}`}>
                  <span className="method">{method}</span> <code>{path}</code>
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Proofs() {
  return (
    <section aria-labelledby="proofs">
      <h2 id="proofs">How a caller proves itself</h2>
      <dl className="members">
        {Object.entries(api.components.securitySchemes).map(([name, { description }]) => (
          <div key={name} id={`proof-${name}`}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <Text>{description}</Text>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Schemas() {
  return (
    <section aria-labelledby="schemas">
      <h2 id="schemas">Schemas</h2>
      {Object.entries(api.components.schemas).map(([name, schema]) => (
        <section key={name} className="card operation" id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
          <h3 id={`schema-${name}-title`}>{name}</h3>
          {schema.description && (
            <p>
              <Text>{schema.description}</Text>
            </p>
          )}
          {(schema.anyOf ?? schema.oneOf ?? [schema]).map((one) => (
            <div key={JSON.stringify(one)}>
              {!nameOf(one) && !one.properties && (
                <p>
                  <Type schema={one} />
                </p>
              )}
              <Members schema={one} />
            </div>
          ))}
        </section>
      ))}
    </section>
  );
}
