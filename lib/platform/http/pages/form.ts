import { z } from "zod";
import { AppError, ERRORS, type ErrorCode } from "../../../errors";
import { declare, type ErrorPlacement, type Input, type RequestScope } from "../../../operation";
import type { AnyPrincipal } from "../../../principal";
import type { AccountRole } from "../../db/generated/client";
import { jsonResponse, type RequestHead, type ResponseHeaders, RouteResponse } from "../../http-message";
import { fieldNames, parseForm } from "../body";
import { defineRoute, type RouteHandlers } from "../route";
import { CLEAR_SITE_DATA, REFRESH_POLICY } from "../security-headers";
import { setFlash } from "./flash";
import { forgetSentForm, keepForm } from "./kept-form";
import { confirmPath, signInPath } from "./redirect-paths";

/** Assigns an error to the form field it belongs to, and adds to a rate limit's message when to try again. */
export function toFormError({ code, extras }: AppError, placement: ErrorPlacement = {}): AppError {
  const { field, message = extras.detail ?? ERRORS[code][1] } = placement[code] ?? {};
  const errors = field === undefined ? extras.errors : [{ pointer: `/${field}`, code, detail: message }];
  const retry = code === "rate_limited" && extras.retryAfterSeconds ? retryMessage(extras.retryAfterSeconds) : "";
  return new AppError(code, { ...extras, errors, detail: `${message.replace(/\.$/, "")}. ${retry}`.trim() });
}

/** "Try again in 12 minutes." */
export function retryMessage(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes <= 1) return "Try again in a minute.";
  if (minutes < 120) return `Try again in ${minutes} minutes.`;
  return `Try again in ${Math.ceil(minutes / 60)} hours.`;
}

/** The next page, and the Set-Cookie headers to send with it. `isSignedOut`: the browser forgets what it has stored. */
type Redirect = { to: string; cookies?: string[]; isSignedOut?: true };

type Form<Fields, Role extends AccountRole | undefined, Session extends true | undefined> = {
  summary: string;
  /** The page that contains the form and shows its errors, or how its URL follows from the form's fields. */
  page: string | ((fields: Record<string, string>) => string);
  /** As of an operation. Without a session, the sign-in page comes first. */
  session?: Session;
  role?: Role;
  stepUp?: true;
  /** Takes effect whichever account is signed in. Otherwise it must be the one for which the page was made. */
  isForAnyAccount?: true;
  body?: z.ZodType<Fields>;
  maxBodyBytes?: number;
  /** Fields whose values are filled in again after an error. None is a secret. */
  keptFields?: readonly string[];
  /**
   * Without a session or a recent authentication, a page asks for one, and then the form can be sent as it was: no field
   * is a secret.
   */
  canResume?: true;
  errorPlacement?: ErrorPlacement;
} & Follow<Input<unknown, unknown, Fields, Role, undefined, Session>>;

/** What is done, and the page that follows: always the same one, or the one that `handle` returns. */
type Follow<Given> =
  | { next: string; handle: (input: Given) => Promise<unknown> }
  | { next?: undefined; handle: (input: Given) => Promise<Redirect> };

const NOT_SENT = "This was not sent, because you had to sign in again. Check it, and send it now.";
/** The page stays open, so that nothing that was entered is lost. */
const TOO_LONG = "Sign in again in another tab, and then send this here.";

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
 * The path of a form on a page, and what responds to it. A browser without JavaScript gets a redirect (303): to the next
 * page, or back to the form with the errors. The page's script sends `Accept: application/json` and gets `{ location }` or
 * a problem document. Accepts requests from our own pages only.
 */
export function defineForm<
  Fields,
  Role extends AccountRole | undefined = undefined,
  Session extends true | undefined = undefined,
>(path: string, form: Form<Fields, Role, Session>): [path: string, RouteHandlers] {
  const { summary, session, role, stepUp, body, maxBodyBytes } = form;
  const post = declare<unknown, unknown, Fields, Role, undefined, Session>({
    summary,
    session,
    role,
    stepUp,
    bodyFormat: "form",
    body,
    maxBodyBytes,
    isInPerson: true,
    isOwnOriginRequired: () => true,
    writes: "raw",
    response: { status: 303, schema: null },
    otherResponses: { 200: { schema: Location } },
    run: async (input) => {
      if (!form.isForAnyAccount) requireSameAccount(input);
      const { cookies = [], ...next }: Redirect =
        form.next === undefined ? await form.handle(input) : await form.handle(input).then(() => ({ to: form.next }));
      const forgotten = await forgetSentForm(input.ctx, path, input.request.headers.get("cookie"));
      return redirect({ ...next, cookies: [...cookies, ...forgotten] }, input.request);
    },
    writeError: (error, scope) => writeError(path, form, error, scope),
  });
  return [path, defineRoute(path, { POST: post })];
}

/** @throws AppError account_changed if the form is of another account's page, such as in a tab that was opened before */
export function requireSameAccount({ bytes, principal }: { bytes: Uint8Array; principal: AnyPrincipal | null }): void {
  const { signedInAs } = parseForm(bytes);
  if (signedInAs === undefined || principal === null || !("account" in principal)) return;
  if (signedInAs === principal.account.id) return;
  throw new AppError("account_changed", `${ERRORS.account_changed[1]}. Reload the page.`);
}

type ErrorForm = Omit<Form<unknown, undefined, undefined>, "session" | "role" | "body" | "handle" | "next">;

/** A redirect, or the error for a problem document. */
async function writeError(path: string, form: ErrorForm, error: AppError, scope: RequestScope) {
  if (REQUEST_ERRORS.has(error.code)) return error;
  const { ctx, request, bytes } = scope;
  const { page, keptFields = [], errorPlacement, canResume } = form;
  const fields = parseForm(bytes);
  const pageUrl = typeof page === "string" ? page : page(fields);
  const shown = toFormError(error, errorPlacement);
  const messages = messagesOf(shown);
  const unshown = unsentFields(Object.keys(messages), bytes);
  const isUnconfirmed = error.code === "reauthentication_required" && (canResume || unshown.length > 0);
  if (error.code === "unauthenticated" || isUnconfirmed)
    return interrupt(path, form, { error, fields, pageUrl }, scope);
  if (isScript(request) || shown.code === "internal_error") return shown;
  const values = error.code === "account_changed" ? {} : pick(fields, keptFields);
  const flash = { form: path, message: shown.message, fields: messages, unshown, values };
  const { id, cookie } = setFlash(ctx.config, flash);
  return redirect({ to: withFlash(pageUrl, id), cookies: [cookie] }, request);
}

type Submission = { error: AppError; fields: Record<string, string>; pageUrl: string };

/** Redirects to where the author of a form signs in again or confirms that it is them, and then back to it. */
async function interrupt(
  form: string,
  { summary, keptFields = [], canResume }: ErrorForm,
  { error, fields, pageUrl }: Submission,
  { ctx, request }: RequestScope,
) {
  const { signedInAs, isResumed, ...entered } = fields;
  const isUnconfirmed = error.code === "reauthentication_required";
  const gate = isUnconfirmed ? confirmPath : signInPath;
  const values = canResume ? entered : pick(fields, keptFields);
  if (signedInAs === undefined || (!canResume && Object.keys(values).length === 0)) {
    return redirect({ to: gate(pageUrl) }, request);
  }
  const how = isUnconfirmed && isResumed === undefined ? ("now" as const) : ("ask" as const);
  const resume = canResume ? { resume: how, summary } : {};
  const kept = await keepForm(ctx, signedInAs, { form, message: NOT_SENT, fields: {}, values, ...resume });
  if (kept === null && isScript(request)) return new AppError(error.code, { detail: TOO_LONG });
  return redirect(
    { to: gate(kept ? withFlash(pageUrl, kept.id) : pageUrl), cookies: kept ? [kept.cookie] : [] },
    request,
  );
}

function pick(fields: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function withFlash(pageUrl: string, id: string): string {
  return `${pageUrl}${pageUrl.includes("?") ? "&" : "?"}formErrors=${id}`;
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

/** The named fields, if a form was sent without any of them: it may have no place for their errors. */
function unsentFields(names: string[], bytes: Uint8Array): string[] {
  const sent = fieldNames(bytes);
  return names.some((name) => sent.includes(name)) ? [] : names;
}

function messagesOf({ extras }: AppError): Record<string, string> {
  const pairs = (extras.errors ?? []).map(({ pointer, detail }) => [pointer.slice(1), detail] as const);
  return Object.fromEntries(pairs.toReversed());
}
