import { headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { type AccountProfile, readProfile } from "@/lib/accounts/profile";
import type { Passkey } from "@/lib/auth/passkeys/schema";
import { listPasskeys } from "@/lib/auth/passkeys/stored-passkeys";
import { readStepUpMethods } from "@/lib/auth/step-up";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import { confirmPath, signInPath } from "@/lib/platform/http/pages/redirect-paths";
import type { Principal } from "@/lib/principal";

export type Visitor = Principal & AccountProfile;

/** Returns the signed-in visitor. Redirects others to the sign-in page, which returns them to `page`. */
export async function requireVisitor(page: string): Promise<Visitor> {
  const principal = await findVisitor(await headers());
  const profile = principal && (await readProfile(pageContext(), principal.account.id));
  return profile ? { ...principal, ...profile } : redirect(signInPath(page));
}

/**
 * The same for a page that requires a recent authentication. If the page `asksForPassword` itself, that suffices for an
 * account that has one and no second factor.
 */
export async function requireRecentVisitor(page: string, { asksForPassword = false } = {}): Promise<Visitor> {
  const visitor = await requireVisitor(page);
  const { isFresh, aal } = await readStepUpMethods(pageContext(), visitor);
  const isProvedOnPage = asksForPassword && visitor.hasPassword && aal === 1;
  return isFresh || isProvedOnPage ? visitor : redirect(confirmPath(page));
}

/** The visitor's passkey with this id. Shows the page for missing pages if there is none. */
export async function findOwnPasskey({ account }: Visitor, id: string | undefined): Promise<Passkey> {
  const passkeys = await listPasskeys(pageContext().db, account.id);
  return passkeys.find((passkey) => passkey.id === id) ?? notFound();
}
