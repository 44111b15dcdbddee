import { Field } from "../components/field";

type Props = { email: string; hasPassword: boolean; returnTo: string };

/** Asks for the password again, or for a recent sign-in where the account has no password. */
export function Reauthentication({ email, hasPassword, returnTo }: Props) {
  if (!hasPassword) {
    return (
      <p>
        Your account has no password. If you signed in more than ten minutes ago,{" "}
        <a href={`/sign-in?${new URLSearchParams({ callbackUrl: returnTo })}`}>sign in again</a> first.
      </p>
    );
  }
  return (
    <>
      <input hidden readOnly name="username" autoComplete="username" value={email} />
      <Field name="password" label="Password" type="password" required autoComplete="current-password" />
    </>
  );
}
