import type { z } from "zod";
import { AppError, type FieldError, isAppError } from "../errors";
import { isStorableText } from "../text";
import type { RequestHead, RouteRequest } from "./route-request";

const MOST_LEVELS = 64;
/** Faults told at once; more help nobody. */
const MOST_ERRORS = 20;

/** Reads at most `limitBytes` of the body, whatever Content-Length says. @throws AppError payload_too_large */
export async function readBody(request: RouteRequest, limitBytes: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new AppError("payload_too_large", { detail: `At most ${limitBytes} bytes.`, members: { limitBytes } });
  if (Number(request.headers.get("content-length")) > limitBytes) throw tooLarge();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > limitBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError("malformed_json", { detail: "The body was broken off.", cause: error });
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** @throws AppError unsupported_media_type unless the body is declared to be JSON. */
export function requireJson(request: RequestHead): void {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new AppError("unsupported_media_type", { headers: { Accept: "application/json" } });
}

/** Decodes and parses a JSON body (RFC 8259: UTF-8). @throws AppError malformed_json */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new AppError("malformed_json");
  }
}

/** Checks a body against its schema. @throws AppError validation_failed with a pointer to each field. */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const unstorable = findUnstorable(value);
  if (unstorable) throw new AppError("validation_failed", { errors: unstorable });
  const parsed = schema.safeParse(value, { error: lengthInWords });
  if (parsed.success) return parsed.data;
  throw new AppError("validation_failed", {
    errors: parsed.error.issues.slice(0, MOST_ERRORS).map((issue) => toFieldError(issue, pointer(issue.path), value)),
  });
}

/** Queries parsed before: installed clients ask the same few, all day long. */
const parsedQueries = new WeakMap<z.ZodObject, Map<string, unknown>>();
const MOST_QUERIES = 1_000;
const LONGEST_KEPT = 256;

/**
 * Parses the query of a URL against an object schema. Unknown parameters are ignored; a known one that comes twice is
 * an error. The result is shared, and frozen. @throws AppError invalid_query
 */
export function parseQuery<T>(schema: z.ZodObject & z.ZodType<T>, url: string): T {
  const at = url.indexOf("?");
  const search = at < 0 ? "" : url.slice(at); // to parse the URL would cost more than the rest
  const known = parsedQueries.get(schema) ?? new Map<string, unknown>();
  const before = known.get(search);
  if (before !== undefined) return before as T;
  const parsed = Object.freeze(parseAnew(schema, search));
  if (search.length > LONGEST_KEPT) return parsed;
  if (known.size >= MOST_QUERIES) known.clear();
  parsedQueries.set(schema, known.set(search, parsed));
  return parsed;
}

function parseAnew<T>(schema: z.ZodObject & z.ZodType<T>, search: string): T {
  const params = new URLSearchParams(search);
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const values = params.getAll(name);
    if (values.length > 1) throw invalidQuery([{ pointer: `?${name}`, code: "repeated", detail: "Give it once" }]);
    if (values[0] !== undefined) given[name] = values[0];
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalidQuery(parsed.error.issues.map((issue) => toFieldError(issue, `?${issue.path.join(".")}`, given)));
}

function invalidQuery(errors: FieldError[]): AppError {
  return new AppError("invalid_query", { errors });
}

function toFieldError(issue: z.core.$ZodIssue, at: string, input: unknown): FieldError {
  const value = issue.path.reduce<unknown>(
    (node, step) => (node as Record<PropertyKey, unknown> | undefined)?.[step],
    input,
  );
  if (value === undefined) return { pointer: at, code: "required", detail: "Is required" };
  return { pointer: at, code: issue.code, detail: issue.message };
}

/** A string's length in the words of a form; undefined where zod's or the schema's own do. */
function lengthInWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "too_big" && issue.origin === "string") return `Must be at most ${issue.maximum} characters long`;
  if (issue.code !== "too_small" || issue.origin !== "string") return undefined;
  return issue.minimum === 1 ? "Must not be empty" : `Must be at least ${issue.minimum} characters long`;
}

/** RFC 6901. */
function pointer(path: PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/**
 * What cannot be kept: PostgreSQL cannot store NUL, UTF-8 has no lone surrogates, and nothing of ours is nested
 * this deep. Walks without recursion, since the depth is the caller's to choose.
 */
function findUnstorable(value: unknown): FieldError[] | null {
  const errors: FieldError[] = [];
  const queue: Node[] = [{ value, depth: 0 }];
  for (let node = queue.pop(); node && errors.length < MOST_ERRORS; node = queue.pop()) {
    const { value, depth } = node;
    if (depth > MOST_LEVELS) return [{ pointer: "", code: "too_deep", detail: `At most ${MOST_LEVELS} levels` }];
    if (typeof value === "string" && !isStorableText(value)) {
      const detail = "Must not contain NUL or lone surrogates";
      errors.push({ pointer: pointer(pathOf(node)), code: "invalid_characters", detail });
    }
    if (typeof value !== "object" || value === null) continue;
    for (const [key, child] of Object.entries(value)) queue.push({ value: child, depth: depth + 1, key, parent: node });
  }
  return errors.length > 0 ? errors : null;
}

type Node = { value: unknown; depth: number; key?: string; parent?: Node };

function pathOf(node: Node): string[] {
  const path: string[] = [];
  for (let at: Node | undefined = node; at?.key !== undefined; at = at.parent) path.unshift(at.key);
  return path;
}
