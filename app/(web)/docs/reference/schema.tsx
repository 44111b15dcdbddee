import { Fragment, type ReactNode } from "react";
import { nameOf, type Schema } from "./document";
import { MarkdownText } from "./markdown";

type FieldInfo = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** The fields of an object, including those of its inline objects. */
export function Fields({ schema }: { schema: Schema }) {
  const { properties = {}, required = [] } = objectSchemaOf(schema);
  const fields = Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    schema: property,
    description: property.description,
  }));
  return fields.length === 0 ? null : <FieldList fields={fields} />;
}

export function FieldList({ fields }: { fields: FieldInfo[] }) {
  return (
    <dl className="fields">
      {fields.map(({ name, required, schema, description }) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <Type schema={schema} /> {required && <span className="tag">required</span>}
          </dt>
          <dd>
            {description && <MarkdownText>{description}</MarkdownText>}
            {schema.default !== undefined && typeof schema.default !== "object" && (
              <>
                {" "}
                Default: <code>{String(schema.default)}</code>.
              </>
            )}
            <Examples of={schema.examples} />
            <Fields schema={schema} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Examples({ of = [] }: { of?: unknown[] | undefined }) {
  if (of.length === 0) return null;
  return (
    <>
      {" "}
      Example: <Choices of={of.map((value) => <code key={String(value)}>{JSON.stringify(value)}</code>)} />.
    </>
  );
}

/** A schema's type. A named schema is a link. */
export function Type({ schema }: { schema: Schema }): ReactNode {
  const name = nameOf(schema);
  if (name) return <a href={`#schema-${name}`}>{name}</a>;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return <Choices of={choices.map((choice) => <Type key={JSON.stringify(choice)} schema={choice} />)} />;
  if (schema.const !== undefined) return <code>{JSON.stringify(schema.const)}</code>;
  if (schema.enum) {
    return <Choices of={schema.enum.map((value) => <code key={String(value)}>{JSON.stringify(value)}</code>)} />;
  }
  if (schema.items) {
    return (
      <>
        list of <Type schema={schema.items} />
      </>
    );
  }
  const { type, format, maxLength } = schema;
  const constraints = [format, maxLength === undefined ? undefined : `at most ${maxLength} characters`].filter(Boolean);
  return `${[type ?? "anything"].flat().join(" or ")}${constraints.length > 0 ? ` (${constraints.join(", ")})` : ""}`;
}

function Choices({ of }: { of: ReactNode[] }) {
  return of.map((choice, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change.
    <Fragment key={i}>
      {i > 0 && " or "}
      {choice}
    </Fragment>
  ));
}

/** The object schema whose fields are shown: the schema itself, its items, or its first variant with properties. */
function objectSchemaOf(schema: Schema): Schema {
  if (schema.items) return objectSchemaOf(schema.items);
  return schema.anyOf?.find(({ properties }) => properties) ?? schema;
}
