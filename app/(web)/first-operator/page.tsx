import { headers } from "next/headers";
import type { ReactNode } from "react";
import { hasAdmin } from "@/lib/accounts/first-operator";
import { readProfile } from "@/lib/accounts/profile";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import { readLinkCookie } from "@/lib/platform/http/pages/page-cookies";
import { Field, PasswordField } from "../components/field";
import { Form, type FormState } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";

export const metadata = { title: "First operator", robots: { index: false } };

const EXISTING_ACCOUNT = `/sign-in?${new URLSearchParams({ callbackUrl: "/first-operator" })}`;

/** The page of the link that the service prints while it has no admin. Opening it changes nothing. */
export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const flash = await flashOf((await queryOf(props)).formErrors);
  if (await hasAdmin(ctx.db)) return <Closed />;
  const given = await headers();
  if ((await readLinkCookie(ctx.config, "firstOperator", given.get("cookie"))) === null)
    return <OpenLink flash={flash} />;
  const visitor = await findVisitor(given);
  const profile = visitor && (await readProfile(ctx, visitor.account.id));
  if (!profile) return <CreateAccount flash={flash} minLength={ctx.config.AUTH_PASSWORD_MIN} />;
  return <UseAccount flash={flash} email={profile.user.email} />;
}

type Props = { flash: FormState | null };

function Narrow({ children }: { children: ReactNode }) {
  return (
    <div className="narrow" lang="en">
      <h1>First operator</h1>
      {children}
    </div>
  );
}

function Closed() {
  return (
    <Narrow>
      <Notice kind="error">This service has an operator already. Only an admin can add others.</Notice>
      <p className="aside">
        <a href="/console">Console</a>
      </p>
    </Narrow>
  );
}

function OpenLink({ flash }: Props) {
  return (
    <Narrow>
      <p>This service has no operator yet. Its first operator can see and change everything.</p>
      <Form action="/forms/first-operator/open" flash={flash}>
        <TokenField label="Link" hint="Paste the link that the service printed when it started." />
        <button type="submit">Continue</button>
      </Form>
    </Narrow>
  );
}

function CreateAccount({ flash, minLength }: Props & { minLength: number }) {
  return (
    <Narrow>
      <p>Create the account of the first operator.</p>
      <Form action="/forms/first-operator/register" flash={flash}>
        <Field name="name" label="Name (optional)" autoComplete="name" maxLength={80} />
        <Field name="email" label="Email" type="email" required autoComplete="username" />
        <PasswordField
          label="Password"
          hint={`At least ${minLength} characters. A few random words are easy to remember.`}
          isNew
        />
        <button type="submit">Create account</button>
      </Form>
      <p className="aside">
        Already have an account? <a href={EXISTING_ACCOUNT}>Sign in</a>
      </p>
    </Narrow>
  );
}

function UseAccount({ flash, email }: Props & { email: string }) {
  return (
    <Narrow>
      <p>You are signed in as {email}. This account will see and change everything.</p>
      <Form action="/forms/first-operator" flash={flash}>
        <button type="submit">Become the first operator</button>
      </Form>
      <p className="aside">
        <a href={EXISTING_ACCOUNT}>Use another account</a>
      </p>
    </Narrow>
  );
}
