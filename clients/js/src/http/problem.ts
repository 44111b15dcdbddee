import type { components, ProblemCode as ServiceCode } from "../api.generated.js";

/**
 * This package's own codes: no response, an unexpected response, an invalid or late browser callback, or no push
 * support.
 */
export type ClientErrorCode =
  | "network_error"
  | "unexpected_response"
  | "invalid_callback"
  | "timed_out"
  | "push_unavailable";

/** What `error.code` can be. A newer service may send further codes. */
export type ProblemCode = ServiceCode | ClientErrorCode | (string & {});

export type FieldError = components["schemas"]["FieldError"];

type Details = {
  status?: number;
  detail?: string;
  requestId?: string;
  errors?: FieldError[];
  retryAfterSeconds?: number;
  body?: Record<string, unknown>;
  cause?: unknown;
};

/** The error of a request. Handle it by its `code`; `/docs/errors` of the service describes every code. */
export class HomeportError extends Error {
  override readonly name = "HomeportError";
  readonly code: ProblemCode;
  /** The HTTP status, or 0 if no response arrived. */
  readonly status: number;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;
  /** The invalid fields of `validation_failed`. */
  readonly errors: readonly FieldError[];
  /** How long to wait before another attempt. */
  readonly retryAfterSeconds: number | undefined;
  /** The whole problem document, such as the `challenge` of `second_factor_required`. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(code: ProblemCode, details: Details = {}) {
    super(details.detail ?? code, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.requestId = details.requestId;
    this.errors = details.errors ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.body = details.body ?? {};
  }
}

/** The error of a response: a problem document (RFC 9457), or an error of OAuth (RFC 6749, section 5.2). */
export async function errorOf(response: Response): Promise<HomeportError> {
  const body = await readObject(response);
  const code = textOf(body.code) ?? textOf(body.error) ?? "unexpected_response";
  return new HomeportError(code, {
    status: response.status,
    detail: textOf(body.detail) ?? textOf(body.error_description) ?? textOf(body.title),
    requestId: response.headers.get("x-request-id") ?? undefined,
    errors: Array.isArray(body.errors) ? (body.errors as FieldError[]) : [],
    retryAfterSeconds: retryAfterSeconds(response.headers),
    body,
  });
}

/** The seconds of `Retry-After`, which is a number or a date (RFC 9110, section 10.2.3). */
export function retryAfterSeconds(headers: Headers, now = Date.now()): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1000));
}

async function readObject(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json().catch(() => null);
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
