import { Field } from "../parts/field";

type Props = { email: string; hasPassword: boolean; signInAgainAt: string };

/** The part of a form that has the owner prove again who they are: the password, or a link to sign in anew. */
export function Reauthentication({ email, hasPassword, signInAgainAt }: Props) {
  if (!hasPassword) {
    return (
      <p>
        You have no password here. If you signed in more than ten minutes ago,{" "}
        <a href={`/sign-in?callbackUrl=${signInAgainAt}`}>sign in again</a> first.
      </p>
    );
  }
  return (
    <>
      <input hidden readOnly name="username" autoComplete="username" value={email} />
      <Field name="password" label="Your password" type="password" required autoComplete="current-password" />
    </>
  );
}
