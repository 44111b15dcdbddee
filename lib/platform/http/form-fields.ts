import type { z } from "zod";
import { fieldMessage } from "../field-message";
import { NOT_UTC_TEXT, parseUtc, UtcText } from "../storable";

type Texts = Readonly<Record<string, string>>;
type Schema = z.core.$ZodTypes;

/**
 * The fields of a form by the schemas of a request that has the same: a list is typed, or has a checkbox for each of its
 * entries ("scopes.audit:read"), and times are in UTC. Adds an issue for each field that is wrong.
 */
export function decodeFields(
  schemas: readonly z.ZodType[],
  given: Texts,
  { addIssue }: Pick<z.core.$RefinementCtx, "addIssue">,
): Record<string, unknown> {
  const decoded = schemas.map((schema) => {
    const parsed = schema.safeParse(valuesOf(schema, given), { error: formMessage });
    for (const { path, ...issue } of parsed.error?.issues ?? []) {
      const [name = ""] = path;
      addIssue({ ...issue, path: Object.hasOwn(given, name) ? [name] : path }); // one field for all entries of a list
    }
    return parsed.data;
  });
  return Object.assign({}, ...decoded);
}

/** The fields of a form that belong to a schema. */
export function fieldsOf<Fields extends object>(schema: z.ZodType | undefined, fields: Fields): Partial<Fields> {
  const names = schema === undefined ? [] : Object.keys(shapeOf(schema));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name))) as Partial<Fields>;
}

function shapeOf(schema: z.ZodType): Record<string, Schema> {
  const { def } = (schema as unknown as Schema)._zod;
  if (def.type !== "object") throw new Error("A form has the fields of an object");
  return def.shape as unknown as Record<string, Schema>;
}

function valuesOf(schema: z.ZodType, given: Texts): Record<string, unknown> {
  const values = Object.entries(shapeOf(schema)).map(
    ([name, field]) => [name, fieldValue(field, name, given)] as const,
  );
  const { catchall } = schema.def as z.core.$ZodObjectDef;
  const others = catchall === undefined || catchall._zod.def.type === "never" ? {} : given;
  return { ...others, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) };
}

/** A field's value as JSON would have it. undefined: the form does not have the field. */
function fieldValue(schema: Schema, name: string, given: Texts): unknown {
  const { def } = schema._zod;
  const text = given[name];
  if (def.type === "pipe") return fieldValue(def.in as Schema, name, given);
  if ("innerType" in def) return fieldValue(def.innerType as Schema, name, given);
  if (def.type === "array") return text === undefined ? checked(name, given) : text.split(/[\s,]+/).filter(Boolean);
  if (text === undefined) return undefined;
  if (def.type === "boolean") return { on: true, true: true, false: false }[text] ?? text;
  if (def.type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  const isTime = "format" in def && def.format === "datetime" && UtcText.safeParse(text).success;
  return isTime ? parseUtc(text).toISOString() : text;
}

/** The entries of a list whose checkboxes are checked; undefined if there is none. */
function checked(name: string, given: Texts): string[] | undefined {
  const boxes = Object.keys(given).filter((box) => box.startsWith(`${name}.`));
  return boxes.length === 0 ? undefined : boxes.map((box) => box.slice(name.length + 1));
}

function formMessage(issue: z.core.$ZodRawIssue): string | undefined {
  const isTime = issue.code === "invalid_format" && issue.format === "datetime";
  return isTime ? NOT_UTC_TEXT : fieldMessage(issue);
}
