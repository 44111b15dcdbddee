import type { Schema } from "../reference/document";
import { MarkdownText } from "../reference/markdown";
import { type Described, detailsOf, propertiesOf, typeOf } from "./describe";
import { type FieldInfo, FieldList, Line } from "./fields";
import { piecesOf } from "./inline";

/** The fields of an object, including those of its inline objects. */
export function Fields({ schema }: { schema: Schema }) {
  return <FieldList fields={fieldsOf(schema)} />;
}

const fieldsOf = (schema: Schema): FieldInfo[] => propertiesOf(schema).map(fieldOf);

/** What is shown of a field or a parameter. */
export function fieldOf({ name, required, schema, description }: Described): FieldInfo {
  const text = description ? (piecesOf(description) ?? <MarkdownText>{description}</MarkdownText>) : [];
  return { name, type: typeOf(schema), isRequired: required, text, more: detailsOf(schema), fields: fieldsOf(schema) };
}

/** A schema's type. A named schema is a link. */
export function Type({ schema }: { schema: Schema }) {
  return <Line pieces={typeOf(schema)} />;
}
