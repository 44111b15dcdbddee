import { z } from "zod";
import type { Caller } from "../../audit/caller";
import { authenticate, type Principal } from "../../auth/authenticate";
import { callerOf } from "../../auth/caller";
import type { Context } from "../../context";
import { AppError, type ErrorCode } from "../../errors";
import { parseBody } from "../input";
import { requireOwnOrigin } from "../origin";
import { toAppError } from "../problem";
import { defineRoute, endpoint, type PublicInput } from "../route";
import type { RequestHead } from "../route-request";
import { jsonResponse, RouteResponse } from "../route-response";
import { setFlash } from "./flash";
import { type ErrorPlacement, toFormError } from "./form-errors";
import { signInPath } from "./own-path";

type Input<Fields, Visitor> = {
  ctx: Context;
  fields: Fields;
  visitor: Visitor;
  headers: RequestHead["headers"];
  caller: Caller;
};

/** What a form came to: where to go next, and the cookies that go along. */
type Done = { to: string; cookies?: string[] };

type Form<Fields, Auth extends "account" | "none"> = {
  summary: string;
  /** The page that the form stands on, where a refusal is shown. */
  page: string;
  /** "account": needs the session cookie; without it the sign-in page comes first. */
  auth?: Auth;
  fields: z.ZodType<Fields>;
  /** Fields whose values may stand in the page again. */
  keep?: readonly string[];
  /** The fields at which refusals belong that name none themselves. */
  places?: ErrorPlacement;
  handle: (input: Input<Fields, Auth extends "account" ? Principal : null>) => Promise<Done>;
};

const Moved = z.object({ location: z.string() });

/**
 * The route of a page's form. A browser without JavaScript posts it and is sent on (303): to the next page, or
 * back to the form with what was wrong. The page's script asks for JSON: `{ location }`, or a problem document.
 * Takes what comes from our own pages alone.
 */
export function defineForm<Fields, Auth extends "account" | "none" = "none">(path: string, form: Form<Fields, Auth>) {
  const { summary } = form;
  const handle = (input: PublicInput) => answerForm(path, form, input);
  const responses = { 303: null, 200: Moved };
  // That the database is down is told in words too, so it is looked for below.
  return defineRoute(path, {
    POST: endpoint({ summary, database: false, body: "raw", writes: "raw", responses, handle }),
  });
}

async function answerForm<Fields, Auth extends "account" | "none">(
  path: string,
  form: Form<Fields, Auth>,
  { ctx, request, raw, address }: PublicInput,
): Promise<RouteResponse> {
  requireOwnOrigin(request.headers, ctx.config);
  const posted = readForm(request.headers.get("content-type") ?? "", raw);
  const byScript = request.headers.get("accept") === "application/json";
  try {
    if (!(await ctx.database.migrated())) throw new AppError("unavailable");
    const visitor = form.auth === "account" ? await authenticate(ctx, request.headers) : null;
    const fields = parseBody(form.fields, posted);
    const input = { ctx, fields, visitor, headers: request.headers, caller: callerOf(ctx, request, address) };
    return sendOn(await form.handle(input as Parameters<typeof form.handle>[0]), byScript);
  } catch (error) {
    const refused = toAppError(error);
    if (refused.code === "unauthenticated") return sendOn({ to: signInPath(form.page) }, byScript);
    const told = toFormError(refused, form.places);
    if (byScript || !isForPeople(told.code)) throw told;
    const kept = Object.entries(posted).filter(([name]) => form.keep?.includes(name));
    const said = { form: path, message: told.message, fields: fieldsOf(told), values: Object.fromEntries(kept) };
    const { id, cookie } = setFlash(ctx.config, said);
    return sendOn({ to: `${form.page}?again=${id}`, cookies: [cookie] }, false);
  }
}

/** The fields of a form, those left empty left out. @throws AppError unsupported_media_type */
function readForm(contentType: string, raw: Uint8Array): Record<string, string> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType)) {
    throw new AppError("unsupported_media_type", { detail: "Here it must be application/x-www-form-urlencoded." });
  }
  const fields = new URLSearchParams(new TextDecoder().decode(raw));
  return Object.fromEntries([...fields].filter(([, value]) => value !== ""));
}

function sendOn({ to, cookies = [] }: Done, byScript: boolean): RouteResponse {
  const headers: Record<string, string[]> = cookies.length > 0 ? { "Set-Cookie": cookies } : {};
  if (byScript) return jsonResponse(200, { location: to }, headers);
  if (to.startsWith("/")) return new RouteResponse(303, null, { ...headers, Location: to, "Content-Length": "0" });
  // form-action holds for redirects too; a page that goes on by itself is no form any more.
  const body = "One moment.";
  const length = { "Content-Type": "text/plain", "Content-Length": String(body.length) };
  return new RouteResponse(200, body, { ...headers, ...length, Refresh: `0;url=${to}` });
}

/** What broke on our side is for the log. */
function isForPeople(code: ErrorCode): boolean {
  return code !== "internal_error";
}

/** By field, the first thing that is wrong with it. */
function fieldsOf({ extras }: AppError): Record<string, string> {
  const pairs = (extras.errors ?? []).map(({ pointer, detail }) => [pointer.slice(1), detail] as const);
  return Object.fromEntries(pairs.toReversed());
}
