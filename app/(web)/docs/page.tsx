import { api, nameOf, operationsOf } from "./reference/document";
import { MarkdownText } from "./reference/markdown";
import { OperationCard } from "./reference/operation";
import { Fields, Type } from "./reference/schema";
import "../styles/reference.css";

export const metadata = { title: "API reference" };

const GROUPS = api.tags.map((tag) => ({ ...tag, operations: operationsOf(tag.name) }));

export default function Page() {
  return (
    <>
      <h1>API reference</h1>
      <p className="lead">
        Every endpoint with its parameters and responses, generated from <a href="/openapi.json">openapi.json</a>{" "}
        (OpenAPI 3.1). See also the <a href="/docs/errors">error reference</a>.
      </p>
      <MarkdownText block>{api.info.description}</MarkdownText>
      <OperationList />
      {GROUPS.map(({ name, description, operations }) => (
        <section key={name} aria-labelledby={`tag-${name}`}>
          <h2 id={`tag-${name}`}>{name}</h2>
          <p>{description}</p>
          {operations.map((operation) => (
            <OperationCard key={operation.operationId} operation={operation} />
          ))}
        </section>
      ))}
      <Authentication />
      <Schemas />
    </>
  );
}

function OperationList() {
  return (
    <nav className="card operations" aria-label="Operations">
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

function Authentication() {
  return (
    <section aria-labelledby="authentication">
      <h2 id="authentication">Authentication</h2>
      <dl className="fields">
        {Object.entries(api.components.securitySchemes).map(([name, { description }]) => (
          <div key={name} id={`auth-${name}`}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <MarkdownText>{description}</MarkdownText>
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
              <MarkdownText>{schema.description}</MarkdownText>
            </p>
          )}
          {(schema.anyOf ?? schema.oneOf ?? [schema]).map((variant) => (
            <div key={JSON.stringify(variant)}>
              {!nameOf(variant) && !variant.properties && (
                <p>
                  <Type schema={variant} />
                </p>
              )}
              <Fields schema={variant} />
            </div>
          ))}
        </section>
      ))}
    </section>
  );
}
