import { z } from "zod";
import type { Context } from "@/lib/context";
import { AppError } from "@/lib/errors";
import { type FormOperation, formPath, type Input } from "@/lib/operation";
import { decodeFields, fieldsOf } from "@/lib/platform/http/form-fields";
import { defineForm } from "@/lib/platform/http/pages/form";
import { clearShownSecretCookie, setShownSecretCookie } from "@/lib/platform/http/pages/page-cookies";
import { ownPath } from "@/lib/platform/http/pages/redirect-paths";
import { FORM_OPERATIONS } from "./operations";

/** Only the path and the query of the URLs matter. */
const BASE_URL = "http://console";

type FormInput = Input<unknown, unknown, unknown, FormOperation["role"]>;
type Outcome = ReturnType<NonNullable<NonNullable<FormOperation["form"]>["after"]>>;

export const consoleForms = FORM_OPERATIONS.map(({ operation, page }) => consoleForm(operation, page));

/**
 * The form of an operation. It requires the operation's role and a recent authentication: without the latter, the page
 * that asks for one comes first, and leads back to the page with the form.
 */
function consoleForm(operation: FormOperation, page: string) {
  const { summary, role, maxBodyBytes, params, query, body, form = {} } = operation;
  const schemas = form.fields ? [form.fields] : [params, query, body].filter((schema) => schema !== undefined);
  return defineForm(formPath(operation), {
    summary,
    page: ({ returnTo }) => consoleUrl(returnTo, page),
    role,
    stepUp: true,
    body: z
      .record(z.string(), z.string())
      .transform((sent, context) => ({ fields: decodeFields(schemas, sent, context), returnTo: sent.returnTo })),
    maxBodyBytes,
    keptFields: form.kept,
    canResume: true,
    errorPlacement: form.errors,
    handle: async (input) => {
      const { ctx, principal } = input;
      const { fields, returnTo } = input.body;
      if (principal === null || !("account" in principal)) throw new AppError("forbidden");
      const result = await operation.run(inputOf(operation, input, fields));
      const { done, to = consoleUrl(returnTo, page), secret }: Outcome = form.after?.(result, fields) ?? {};
      const cookies = secret === undefined ? [] : [await secretCookie(ctx, principal.account.id, secret)];
      return { to: done === undefined ? to : withDone(to, done), cookies };
    },
  });
}

function inputOf({ params, query, body, form }: FormOperation, input: FormInput, fields: Record<string, unknown>) {
  const { ctx, request, bytes, stream, principal, operator, caller, ip, log } = input;
  const { ifMatch = null, ...given } = form?.toInput
    ? form.toInput(fields, ctx)
    : { params: fieldsOf(params, fields), query: fieldsOf(query, fields), body: fieldsOf(body, fields) };
  const get = (name: string) => (name === "if-match" ? ifMatch : request.headers.get(name));
  const headers = { get, has: (name: string) => get(name) !== null };
  const head = { method: request.method, url: request.url, headers };
  const parts = { params: {}, query: {}, body: {}, ...given };
  return { ctx, request: head, bytes, stream, principal, operator, caller, ip, log, ...parts };
}

function secretCookie(ctx: Context, accountId: string, secret: Outcome["secret"]): Promise<string> | string {
  if (!secret) return clearShownSecretCookie(ctx, "shownSecret");
  return setShownSecretCookie(ctx, accountId, secret.kind, secret.value);
}

/** A page of the console, without the outcome of an earlier form. `fallback` for any other URL. */
function consoleUrl(given: string | undefined, fallback: string): string {
  const url = new URL(ownPath(given, BASE_URL, fallback), BASE_URL);
  if (!/^\/console(\/|$)/.test(url.pathname)) return fallback;
  url.searchParams.delete("done");
  url.searchParams.delete("formErrors");
  return url.pathname + url.search;
}

function withDone(to: string, done: string): string {
  const url = new URL(to, BASE_URL);
  url.searchParams.set("done", done);
  return url.pathname + url.search;
}
