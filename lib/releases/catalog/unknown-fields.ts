import { z } from "zod";

/** Names are at most this different from a field that was meant. */
const MAX_DISTANCE = 2;

/** The field of the object at `path` in a schema whose name is the nearest to `name`; undefined if none is near. */
export function nearestField(schema: z.ZodType, path: readonly PropertyKey[], name: string): string | undefined {
  const object = schemaAt(schema, path);
  const known = object instanceof z.ZodObject ? Object.keys(object.shape) : [];
  const near = known
    .map((field) => ({ field, distance: editDistance(name.toLowerCase(), field.toLowerCase()) }))
    .filter(({ field, distance }) => distance <= Math.min(MAX_DISTANCE, field.length / 2));
  return near.sort((a, b) => a.distance - b.distance)[0]?.field;
}

function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const inner = unwrap(schema);
  const [step, ...rest] = path;
  if (step === undefined) return inner;
  const next: unknown =
    inner instanceof z.ZodObject
      ? inner.shape[String(step)]
      : inner instanceof z.ZodArray
        ? inner.element
        : inner instanceof z.ZodRecord
          ? inner.valueType
          : undefined;
  return next instanceof z.ZodType ? schemaAt(next, rest) : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  const inner: unknown = isWrapped ? schema.unwrap() : schema;
  return isWrapped && inner instanceof z.ZodType ? unwrap(inner) : schema;
}

/** Levenshtein's distance: the number of characters to insert, delete or replace. For short names. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, character] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
