import { nameOf, type Schema } from "../reference/document";
import { MarkdownText } from "../reference/markdown";
import { type FieldInfo, FieldList, Line } from "./fields";
import { choicesOf, type Piece, piecesOf } from "./inline";

/** The fields of an object, including those of its inline objects. */
export function Fields({ schema }: { schema: Schema }) {
  return <FieldList fields={fieldsOf(schema)} />;
}

function fieldsOf(schema: Schema): FieldInfo[] {
  const { properties = {}, required = [] } = objectSchemaOf(schema);
  return Object.entries(properties).map(([name, property]) =>
    fieldOf({ name, required: required.includes(name), schema: property, description: property.description }),
  );
}

type Described = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** What is shown of a field or a parameter. */
export function fieldOf({ name, required, schema, description }: Described): FieldInfo {
  const text = description ? (piecesOf(description) ?? <MarkdownText>{description}</MarkdownText>) : [];
  return { name, type: typeOf(schema), isRequired: required, text, more: detailsOf(schema), fields: fieldsOf(schema) };
}

function detailsOf({ default: given, examples = [] }: Schema): Piece[] {
  const byDefault = given !== undefined && typeof given !== "object";
  const example = choicesOf(examples.map((value) => [{ code: JSON.stringify(value) }]));
  return [
    ...(byDefault ? [" Default: ", { code: String(given) }, "."] : []),
    ...(example.length > 0 ? [" Example: ", ...example, "."] : []),
  ];
}

/** A schema's type. A named schema is a link. */
export function Type({ schema }: { schema: Schema }) {
  return <Line pieces={typeOf(schema)} />;
}

function typeOf(schema: Schema): Piece[] {
  const name = nameOf(schema);
  if (name) return [{ schema: name }];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choicesOf(choices.map(typeOf));
  if (schema.const !== undefined) return [{ code: JSON.stringify(schema.const) }];
  if (schema.enum) return choicesOf(schema.enum.map((value) => [{ code: JSON.stringify(value) }]));
  if (schema.items) return ["list of ", ...typeOf(schema.items)];
  const { type, format, maxLength } = schema;
  const constraints = [format, maxLength === undefined ? undefined : `at most ${maxLength} characters`].filter(Boolean);
  return [`${[type ?? "anything"].flat().join(" or ")}${constraints.length > 0 ? ` (${constraints.join(", ")})` : ""}`];
}

/** The object schema whose fields are shown: the schema itself, its items, or its first variant with properties. */
function objectSchemaOf(schema: Schema): Schema {
  if (schema.items) return objectSchemaOf(schema.items);
  return schema.anyOf?.find(({ properties }) => properties) ?? schema;
}
