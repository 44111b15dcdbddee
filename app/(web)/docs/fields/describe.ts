import { nameOf, type Schema } from "../reference/document";
import { choicesOf, type Piece } from "./inline";

/** A field of an object, or a parameter. */
export type Described = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** The fields of an object: of the schema itself, of its items, or of its first variant with properties. */
export function propertiesOf(schema: Schema): Described[] {
  const { properties = {}, required = [] } = objectSchemaOf(schema);
  return Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    schema: property,
    description: property.description,
  }));
}

function objectSchemaOf(schema: Schema): Schema {
  if (schema.items) return objectSchemaOf(schema.items);
  return schema.anyOf?.find(({ properties }) => properties) ?? schema;
}

/** A field's default and examples. */
export function detailsOf({ default: given, examples = [] }: Schema): Piece[] {
  const byDefault = given !== undefined && typeof given !== "object";
  const example = choicesOf(examples.map((value) => [{ code: JSON.stringify(value) }]));
  return [
    ...(byDefault ? [" Default: ", { code: String(given) }, "."] : []),
    ...(example.length > 0 ? [" Example: ", ...example, "."] : []),
  ];
}

export function typeOf(schema: Schema): Piece[] {
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
