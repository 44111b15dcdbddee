import type { z } from "zod";
import { AppError, type FieldError } from "../../errors";
import { fieldMessage } from "../field-message";
import { isStorableText } from "../storable";

const MAX_NESTING = 64;
const MAX_FIELD_ERRORS = 20;

/** Validates a body by its schema. @throws AppError validation_failed with a pointer to each field */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const unstorable = findUnstorable(value);
  if (unstorable) throw new AppError("validation_failed", { errors: unstorable });
  const parsed = schema.safeParse(value, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MAX_FIELD_ERRORS);
  const errors = issues.map((issue) => toFieldError(issue, toPointer(issue.path), value));
  throw new AppError("validation_failed", { errors });
}

/** A path parameter that no resource can have is not found. @throws AppError not_found */
export function parseParams(schema: z.ZodType, params: unknown): unknown {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new AppError("not_found");
  return parsed.data;
}

/** Queries that were parsed before: installed clients send the same few all day. */
const parsedQueries = new WeakMap<z.ZodObject, Map<string, unknown>>();
const MAX_CACHED_QUERIES = 1_000;
const MAX_CACHED_QUERY_LENGTH = 256;

/**
 * Validates the query of a URL by an object schema. Unknown parameters are ignored; a repeated known parameter is an
 * error. The result is frozen, because requests share it. @throws AppError invalid_query
 */
export function parseQuery<T>(schema: z.ZodObject & z.ZodType<T>, url: string): T {
  const start = url.indexOf("?");
  const search = start < 0 ? "" : url.slice(start); // parsing the URL would cost more than the rest
  const cache = parsedQueries.get(schema) ?? new Map<string, unknown>();
  const cached = cache.get(search);
  if (cached !== undefined) return cached as T;
  const parsed = Object.freeze(parseSearch(schema, search));
  if (search.length > MAX_CACHED_QUERY_LENGTH) return parsed;
  if (cache.size >= MAX_CACHED_QUERIES) cache.clear();
  parsedQueries.set(schema, cache.set(search, parsed));
  return parsed;
}

function parseSearch<T>(schema: z.ZodObject & z.ZodType<T>, search: string): T {
  const params = new URLSearchParams(search);
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const values = params.getAll(name);
    const repeated = { pointer: `?${name}`, code: "repeated", detail: "Must not be repeated" };
    if (values.length > 1) throw new AppError("invalid_query", { errors: [repeated] });
    const [value] = values;
    if (value === undefined) continue;
    if (!isStorableText(value)) throw new AppError("invalid_query", { errors: [unstorable(`?${name}`)] });
    given[name] = value;
  }
  const parsed = schema.safeParse(given, { error: fieldMessage });
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map((issue) => toFieldError(issue, `?${issue.path.join(".")}`, given));
  throw new AppError("invalid_query", { errors });
}

function toFieldError({ path, code, message }: z.core.$ZodIssue, pointer: string, input: unknown): FieldError {
  let value = input;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | undefined)?.[step];
  return value === undefined ? { pointer, code: "required", detail: "Required" } : { pointer, code, detail: message };
}

/** RFC 6901. */
function toPointer(path: PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function unstorable(pointer: string): FieldError {
  return { pointer, code: "invalid_characters", detail: "Must not contain NUL or lone surrogates" };
}

/**
 * Strings that PostgreSQL cannot store (NUL) or UTF-8 cannot encode (lone surrogates), and values nested too deeply.
 * Not recursive, because the caller chooses the depth.
 */
function findUnstorable(value: unknown): FieldError[] | null {
  const errors: FieldError[] = [];
  const queue: { value: unknown; path: string[] }[] = [{ value, path: [] }];
  for (let node = queue.pop(); node && errors.length < MAX_FIELD_ERRORS; node = queue.pop()) {
    const { value, path } = node;
    if (path.length > MAX_NESTING)
      return [{ pointer: "", code: "too_deep", detail: `Must have at most ${MAX_NESTING} levels` }];
    if (typeof value === "string" && !isStorableText(value)) {
      errors.push(unstorable(toPointer(path)));
    }
    if (typeof value !== "object" || value === null) continue;
    for (const [key, child] of Object.entries(value)) queue.push({ value: child, path: [...path, key] });
  }
  return errors.length > 0 ? errors : null;
}
