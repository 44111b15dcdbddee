import { z } from "zod";
import type { AppError, ErrorCode } from "../../errors";
import { CLEAR_SITE_DATA, REFRESH_POLICY } from "../browser/security-headers";
import { type AuthRule, endpoint, type Input, type RequestScope } from "../endpoint";
import { parseForm } from "../input/body";
import { defineRoute } from "../route";
import type { RequestHead } from "../route-request";
import { jsonResponse, type ResponseHeaders, RouteResponse } from "../route-response";
import { setFlash } from "./flash";
import { type ErrorPlacement, toFormError } from "./form-errors";
import { confirmPath, signInPath } from "./redirect-paths";

/** The next page, and the Set-Cookie headers to send with it. `isSignedOut`: the browser forgets what it has stored. */
type Redirect = { to: string; cookies?: string[]; isSignedOut?: true };

type Form<Fields, Auth extends AuthRule> = {
  summary: string;
  /** The page that contains the form and shows its errors, or how its URL follows from the form's fields. */
  page: string | ((fields: Record<string, string>) => string);
  /** As for an endpoint. Without a session, the sign-in page comes first. */
  auth?: Auth;
  body: z.ZodType<Fields>;
  maxBodyBytes?: number;
  /** Fields whose values are filled in again after an error. */
  keptFields?: readonly string[];
  errorPlacement?: ErrorPlacement;
  /** Without a recent authentication, a page asks for one, and then returns to `page`. */
  requiresReauthentication?: true;
  handle: (input: Input<unknown, unknown, Fields, Auth>) => Promise<Redirect>;
};

const Location = z.object({ location: z.string() });
/** Errors of the request rather than of what a person entered. They are problem documents. */
const REQUEST_ERRORS: ReadonlySet<ErrorCode> = new Set([
  "malformed_json",
  "origin_not_allowed",
  "method_not_allowed",
  "payload_too_large",
  "unsupported_media_type",
]);

/**
 * The route of a form on a page. A browser without JavaScript gets a redirect (303): to the next page, or back to the
 * form with the errors. The page's script sends `Accept: application/json` and gets `{ location }` or a problem
 * document. Accepts requests from our own pages only.
 */
export function defineForm<Fields, Auth extends AuthRule = "none">(path: string, form: Form<Fields, Auth>) {
  const post = endpoint({
    summary: form.summary,
    auth: form.auth,
    reads: "form",
    body: form.body,
    maxBodyBytes: form.maxBodyBytes,
    isOwnOriginRequired: () => true,
    writes: "raw",
    responses: { 303: null, 200: Location },
    handle: async (input: Input<unknown, unknown, Fields, Auth>) => redirect(await form.handle(input), input.request),
    writeError: (error, scope) => writeError(path, form, error, scope),
  });
  return defineRoute(path, { POST: post });
}

/** A redirect, or the error for a problem document. */
function writeError(
  path: string,
  {
    page,
    keptFields = [],
    errorPlacement,
    requiresReauthentication,
  }: Omit<Form<unknown, "none">, "auth" | "body" | "handle">,
  error: AppError,
  { ctx, request, bytes }: RequestScope,
): RouteResponse | AppError {
  if (REQUEST_ERRORS.has(error.code)) return error;
  const fields = parseForm(bytes);
  const pageUrl = typeof page === "string" ? page : page(fields);
  if (error.code === "unauthenticated") return redirect({ to: signInPath(pageUrl) }, request);
  if (error.code === "reauthentication_required" && requiresReauthentication) {
    return redirect({ to: confirmPath(pageUrl) }, request);
  }
  const shown = toFormError(error, errorPlacement);
  if (isScript(request) || shown.code === "internal_error") return shown;
  const kept = Object.entries(fields).filter(([name]) => keptFields.includes(name));
  const flash = { form: path, message: shown.message, fields: messagesOf(shown), values: Object.fromEntries(kept) };
  const { id, cookie } = setFlash(ctx.config, flash);
  const to = `${pageUrl}${pageUrl.includes("?") ? "&" : "?"}formErrors=${id}`;
  return redirect({ to, cookies: [cookie] }, request);
}

function isScript({ headers }: RequestHead): boolean {
  return headers.get("accept") === "application/json";
}

function redirect({ to, cookies = [], isSignedOut }: Redirect, request: RequestHead): RouteResponse {
  const headers: ResponseHeaders = {
    ...(cookies.length > 0 ? { "Set-Cookie": cookies } : {}),
    ...(isSignedOut ? CLEAR_SITE_DATA : {}),
  };
  if (isScript(request)) return jsonResponse(200, { location: to }, headers);
  if (to.startsWith("/")) return new RouteResponse(303, null, { ...headers, Location: to, "Content-Length": "0" });
  // `form-action` in the page's policy applies to redirects too. A page that refreshes itself is no longer a form.
  const body = "One moment.";
  const entity = { "Content-Type": "text/plain; charset=utf-8", "Content-Length": String(body.length) };
  return new RouteResponse(200, body, { ...headers, ...entity, ...REFRESH_POLICY, Refresh: `0;url=${to}` });
}

/** The first message of each field. */
function messagesOf({ extras }: AppError): Record<string, string> {
  const pairs = (extras.errors ?? []).map(({ pointer, detail }) => [pointer.slice(1), detail] as const);
  return Object.fromEntries(pairs.toReversed());
}
