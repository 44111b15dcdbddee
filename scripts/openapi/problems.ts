import { z } from "zod";
import type { AnyEndpoint } from "@/lib/http/route";
import { ERRORS, type ErrorCode } from "../../lib/errors";

const FieldError = z
  .object({
    pointer: z.string().meta({ description: "A JSON Pointer (RFC 6901) into the body, or `?name` for a parameter" }),
    code: z.string(),
    detail: z.string(),
  })
  .meta({
    id: "FieldError",
    example: { pointer: "/email", code: "invalid_format", detail: "Must be an e-mail address" },
  });

/** RFC 9457, section 3: what every error looks like. */
export const Problem = z
  .looseObject({
    type: z.url().meta({ description: "The page that explains the code" }),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: "What programs switch on" }),
    detail: z.string().optional(),
    requestId: z.string().meta({ description: "Names the request in the service's log" }),
    errors: z.array(FieldError).optional(),
  })
  .meta({
    id: "Problem",
    description: "An error, as RFC 9457 has it",
    example: problemExample("validation_failed"),
  });

/** What the problem document of a code looks like. */
export function problemExample(code: ErrorCode) {
  const [status, title] = ERRORS[code];
  return {
    type: `http://localhost:3000/docs/errors#${code}`,
    title,
    status,
    code,
    requestId: "3f0c8f5e-6f0a-4a55-9d5a-0b1d3f2e7c11",
  };
}

/** Every error that an endpoint may answer: its own ones, and those that the wrapper adds by what it declares. */
export function errorsOf(declaration: AnyEndpoint, verb: string): ErrorCode[] {
  const { auth, body, database, errors = [], limit, params, query } = declaration;
  const changes = verb !== "GET" && verb !== "HEAD";
  const found: (ErrorCode | false | undefined)[] = [
    ...errors,
    ...(auth === "account" ? (["unauthenticated"] as const) : []),
    auth === "account" && changes && "origin_not_allowed",
    params && "not_found",
    query && "invalid_query",
    body && "payload_too_large",
    ...(typeof body === "object" ? (["malformed_json", "unsupported_media_type", "validation_failed"] as const) : []),
    limit && "rate_limited",
    database !== false && "unavailable",
    "internal_error",
  ];
  const unique = new Set(found.filter((code) => typeof code === "string"));
  return [...unique].sort((a, b) => ERRORS[a][0] - ERRORS[b][0] || a.localeCompare(b));
}
