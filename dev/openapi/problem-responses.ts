import { z } from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";
import { type DescribedOperation, isInPerson, isRestricted } from "@/lib/operation";
import { DEPRECATION_HEADERS } from "@/lib/platform/http/deprecation";
import { ERRORS, type ErrorCode } from "../../lib/errors";
import { headersOf } from "./headers";
import { EXAMPLE_REQUEST_ID, PROBLEM_DETAILS } from "./problem-examples";

const FieldError = z
  .object({
    pointer: z.string().meta({ description: "A JSON Pointer (RFC 6901) into the body, or `?name` for a parameter." }),
    code: z.string(),
    detail: z.string(),
  })
  .meta({
    id: "FieldError",
    description: "An invalid field.",
    examples: [{ pointer: "/email", code: "invalid_format", detail: "Must be an email address" }],
  });

/** RFC 9457, section 3. */
const Problem = z
  .looseObject({
    type: z.string().meta({ format: "uri", description: "The URL of the page that explains the code." }),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: "The stable code that clients switch on.", examples: Object.keys(ERRORS) }),
    detail: z.string().optional().meta({ description: "A description of this error for people." }),
    requestId: z.string().meta({ description: "Identifies the request in the service's log." }),
    errors: z.array(FieldError).optional(),
  })
  .meta({ id: "Problem", description: "An error (RFC 9457).", examples: [problemExample("validation_failed")] });

/** The headers of a problem by status, besides those of every response. */
const HEADERS_OF: Record<number, readonly string[]> = {
  401: ["WWW-Authenticate"],
  412: ["ETag"],
  415: ["Accept"],
  416: ["Content-Range"],
  429: ["Retry-After", "RateLimit-Policy", "RateLimit"],
  503: ["Retry-After"],
};

/** A code's own headers. */
const HEADERS_OF_CODE: Partial<Record<ErrorCode, readonly string[]>> = {
  forbidden: ["WWW-Authenticate"], // RFC 6750, section 3.1
  request_in_progress: ["Retry-After"],
};
/** The example of a code's problem document. */
function problemExample(code: ErrorCode) {
  const [status, title] = ERRORS[code];
  const { detail, ...fields } = PROBLEM_DETAILS[code] ?? {};
  return {
    type: `https://api.example.com/docs/errors#${code}`,
    title,
    status,
    code,
    ...(detail === undefined ? {} : { detail }),
    requestId: EXAMPLE_REQUEST_ID,
    ...fields,
  };
}

/** Of routes for operators, which look at API keys. */
const KEY_CODES = ["key_in_url", "forbidden", "rate_limited"] as const;
const IDEMPOTENCY_CODES = ["invalid_idempotency_key", "request_in_progress", "idempotency_key_reused"] as const;

/** Returns every error of an operation: its own, and those that the pipeline adds for what it declares. */
export function errorsOf(operation: DescribedOperation, method: string): ErrorCode[] {
  const { body, bodyFormat, database, errors = [], hasSideEffect, idempotency, limit, params, query } = operation;
  const { role, scope, aal, maxAgeSeconds, stepUp } = operation;
  const changes = method !== "GET" && method !== "HEAD";
  const isSignedIn = isRestricted(operation);
  const found: (ErrorCode | false | undefined)[] = [
    ...errors,
    isSignedIn && "unauthenticated",
    ...(role !== undefined || scope !== undefined ? KEY_CODES : []),
    (aal !== undefined || maxAgeSeconds !== undefined || stepUp) && "reauthentication_required",
    ...(idempotency ? IDEMPOTENCY_CODES : []),
    isSignedIn && (changes || hasSideEffect) && "origin_not_allowed",
    params && hasInvalidValues(params) && "not_found",
    query && "invalid_query",
    (body || bodyFormat) && "payload_too_large",
    ...(body ? (["malformed_json", "unsupported_media_type", "validation_failed"] as const) : []),
    (limit || isInPerson(operation, method)) && "rate_limited",
    ...(database === false ? [] : (["unavailable", "storage_full"] as const)),
    "internal_error",
  ];
  const unique = new Set(found.filter((code) => typeof code === "string"));
  return [...unique].sort((a, b) => ERRORS[a][0] - ERRORS[b][0] || a.localeCompare(b));
}

/** Whether a path's parameters can be none of any resource. */
function hasInvalidValues(params: z.ZodType): boolean {
  const names = params instanceof z.ZodObject ? Object.keys(params.shape) : [];
  return !params.safeParse(Object.fromEntries(names.map((name) => [name, "\0".repeat(10_000)]))).success;
}

/** Returns one response for each status, with the codes that it may have. */
export function describeProblems(
  codes: readonly ErrorCode[],
  isDeprecated: boolean,
): Record<string, ZodOpenApiResponseObject> {
  const statuses = new Set(codes.map((code) => ERRORS[code][0]));
  const described = [...statuses].map((status) => {
    const same = codes.filter((code) => ERRORS[code][0] === status);
    const id = `${isDeprecated ? "Deprecated" : ""}${same.map(pascalCase).join("Or")}`;
    const response = shared.get(id) ?? { id, ...describeProblem(status, same, isDeprecated) };
    shared.set(id, response);
    return [String(status), response] as const;
  });
  return Object.fromEntries(described);
}

/** Operations with the same codes share a component, which zod-openapi identifies by its object. */
const shared = new Map<string, ZodOpenApiResponseObject>();

function describeProblem(status: number, codes: readonly ErrorCode[], isDeprecated: boolean): ZodOpenApiResponseObject {
  const headers = [
    ...(HEADERS_OF[status] ?? []),
    ...codes.flatMap((code) => HEADERS_OF_CODE[code] ?? []),
    ...(isDeprecated ? DEPRECATION_HEADERS : []),
  ];
  const examples = Object.fromEntries(
    codes.map((code) => [code, { summary: ERRORS[code][1], value: problemExample(code) }]),
  );
  const schema = z.intersection(Problem, z.looseObject({ status: z.literal(status), code: z.enum(codes) }));
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}.`).join("\n"),
    headers: headersOf(headers),
    content: { "application/problem+json": { schema, examples } },
  };
}

export function allowed(): ZodOpenApiResponseObject {
  return { description: "`Allow` lists the supported methods.", headers: headersOf(["Allow"]) };
}

function pascalCase(text: string): string {
  const words = text.split("_");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
