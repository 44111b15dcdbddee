import { Field } from "../components/field";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

type Props = { email: string; hasPassword: boolean; returnTo: string };

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
export async function Reauthentication({ email, hasPassword, returnTo }: Props) {
  if (!hasPassword) {
    const signInAgain = await textsOf(TEXTS);
    return <p>{signInAgain(`/sign-in?${new URLSearchParams({ callbackUrl: returnTo })}`)}</p>;
  }
  const { password } = await textsOf(COMMON);
  return (
    <>
      <input hidden readOnly name="username" autoComplete="username" value={email} />
      <Field name="password" label={password} type="password" required autoComplete="current-password" />
    </>
  );
}
