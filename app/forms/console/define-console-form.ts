import { z } from "zod";
import { AppError } from "@/lib/errors";
import type { Input } from "@/lib/operation";
import { operatorOf } from "@/lib/platform/audit/operator";
import { defineForm } from "@/lib/platform/http/pages/form";
import type { ErrorPlacement } from "@/lib/platform/http/pages/form-errors";
import { ownPath } from "@/lib/platform/http/pages/redirect-paths";
import type { Operator } from "@/lib/principal";

/** Only the path and the query of the URLs matter. */
const BASE_URL = "http://console";

type Role = "support" | "admin";

/** `done` selects the message that the next page shows. `to` is that page, if it is not the one with the form. */
type Outcome = { done?: string; to?: string; cookies?: string[] };

/** The operator whose browser sends the form. */
type SignedInOperator = Operator & { accountId: string };

type ConsoleForm<Fields> = {
  summary: string;
  /** The page with the form, unless the form's field `returnTo` names it. */
  page: string;
  /** The least role. Default: admin. */
  role?: Role;
  body: z.ZodType<Fields>;
  maxBodyBytes?: number;
  /** Fields whose values are filled in again after an error. */
  keptFields?: readonly string[];
  errorPlacement?: ErrorPlacement;
  handle: (input: Input<unknown, unknown, Fields, Role>, operator: SignedInOperator) => Promise<Outcome>;
};

/**
 * The route of a form in the console. It requires the role and a recent authentication: without the latter, the page that
 * asks for one comes first, and leads back to the page with the form.
 */
export function defineConsoleForm<Fields>(path: string, form: ConsoleForm<Fields>) {
  const { page, role = "admin", body, handle, ...rest } = form;
  return defineForm(path, {
    ...rest,
    page: ({ returnTo }) => consoleUrl(returnTo, page),
    role,
    stepUp: true,
    body: z.object({ returnTo: z.string().optional() }).and(body),
    requiresReauthentication: true,
    canResume: true,
    handle: async (input: Input<unknown, unknown, Fields & { returnTo?: string | undefined }, Role>) => {
      const { principal, caller } = input;
      if (!("account" in principal)) throw new AppError("forbidden");
      const operator = { ...operatorOf(principal, caller), accountId: principal.account.id };
      const { done, to = consoleUrl(input.body.returnTo, page), cookies } = await handle(input, operator);
      return { to: done === undefined ? to : withDone(to, done), cookies };
    },
  });
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
