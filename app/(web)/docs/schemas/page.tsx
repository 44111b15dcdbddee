import { Fields, Type } from "../fields/schema";
import { DocsFrame } from "../frame/docs-frame";
import { api, nameOf } from "../reference/document";
import { Heading } from "../reference/heading";
import { MarkdownText } from "../reference/markdown";

export const metadata = { title: "API schemas" };
export const isStatic = true;

export default function Page() {
  return (
    <DocsFrame current="schemas">
      <h1>Schemas</h1>
      <p className="lead">The objects that several operations send or receive.</p>
      {Object.entries(api.components.schemas).map(([name, schema]) => (
        <section key={name} className="card operation" id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
          <Heading level={2} id={`schema-${name}-title`} name={name}>
            {name}
          </Heading>
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
    </DocsFrame>
  );
}
