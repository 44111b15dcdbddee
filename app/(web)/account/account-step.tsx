import type { ReactNode } from "react";
import { PasswordField } from "../components/field";
import { Form } from "../components/form";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

/** The title of a page for signed-in users, with a button to sign out. */
export async function AccountHeading({ title }: { title: string }) {
  const { signOut } = await textsOf(COMMON);
  return (
    <div className="heading">
      <h1>{title}</h1>
      <Form action="/forms/sign-out">
        <button type="submit" className="quiet">
          {signOut}
        </button>
      </Form>
    </div>
  );
}

type StepProps = {
  title: string;
  /** What the link to the account is called. Default: "Cancel". */
  back?: string;
  children: ReactNode;
};

/** A page that does one thing with the account: its title, its form, the way back to the account, and out. */
export async function AccountStep({ title, back, children }: StepProps) {
  const { cancel, signOut } = await textsOf(COMMON);
  return (
    <div className="narrow">
      <h1>{title}</h1>
      {children}
      <div className="step-end">
        <a href="/account">{back ?? cancel}</a>
        <Form action="/forms/sign-out">
          <button type="submit" className="link">
            {signOut}
          </button>
        </Form>
      </div>
    </div>
  );
}

const TEXTS = defineTexts({
  en: (href: string) => (
    <>
      Your account has no password. If you signed in more than ten minutes ago, <a href={href}>sign in again</a> first.
    </>
  ),
  de: (href) => (
    <>
      Ihr Konto hat kein Passwort. Wenn Ihre Anmeldung mehr als zehn Minuten zurückliegt,{" "}
      <a href={href}>melden Sie sich zuerst noch einmal an</a>.
    </>
  ),
});

/** Asks for the password again, or for a recent sign-in where the account has no password. */
export async function Reauthentication({
  email,
  hasPassword,
  returnTo,
}: {
  email: string;
  hasPassword: boolean;
  returnTo: string;
}) {
  if (!hasPassword) {
    const signInAgain = await textsOf(TEXTS);
    return <p>{signInAgain(`/sign-in?${new URLSearchParams({ callbackUrl: returnTo })}`)}</p>;
  }
  const { password } = await textsOf(COMMON);
  return (
    <>
      <input hidden readOnly name="username" autoComplete="username" value={email} />
      <PasswordField label={password} />
    </>
  );
}
