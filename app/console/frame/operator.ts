import { headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { cache } from "react";
import { isFresh } from "@/lib/auth/sessions/authentication";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import { PAGE_URL_HEADER } from "@/lib/platform/http/pages/page-headers";
import { confirmPath, signInPath } from "@/lib/platform/http/pages/redirect-paths";
import type { Principal } from "@/lib/principal";

export type OperatorRole = Exclude<Principal["account"]["role"], "user">;

/** The operator who looks at a page of the console. */
export type ConsoleOperator = Pick<Principal, "account" | "session"> & {
  /** The path and query of the page. */
  pageUrl: string;
  /** Whether the session was authenticated recently, so that a change needs no confirmation first. */
  isRecent: boolean;
  hasSecondFactor: boolean;
};

/**
 * Lets operators in, once a request. A stranger is sent to sign in. A customer gets "not found", as of a page that does not
 * exist. An operator with a second factor has to have signed in with it.
 */
export const requireOperator = cache(async (): Promise<ConsoleOperator> => {
  const given = await headers();
  const pageUrl = given.get(PAGE_URL_HEADER) ?? "/console";
  const principal = await findVisitor(given);
  if (!principal) redirect(signInPath(pageUrl));
  if (!hasRole(principal, "support")) notFound();
  const ctx = pageContext();
  const { aal, isFresh: isRecent } = await readStepUpMethods(ctx, principal);
  const isAtLevel = isFresh(principal.session, { aal, maxAgeSeconds: Number.POSITIVE_INFINITY, now: ctx.now() });
  if (!isAtLevel) redirect(confirmPath(pageUrl));
  return { account: principal.account, session: principal.session, pageUrl, isRecent, hasSecondFactor: aal === 2 };
});

/** Whether an operator may do what requires a role: an admin may do everything. */
export function hasRole({ account }: Pick<Principal, "account">, role: OperatorRole): boolean {
  return account.role === "admin" || account.role === role;
}
