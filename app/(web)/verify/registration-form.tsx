import { Field } from "../components/field";
import { Form, type FormState } from "../components/form";
import { TokenField } from "../components/token-field";

type Props = {
  flash: FormState | null;
  /** The provider with which this browser signed in before the email was verified. */
  signedInWith: string | undefined;
  hasProviders: boolean;
};

/** Confirms an email by the emailed token and by the registration that its owner made. */
export function RegistrationForm({ flash, signedInWith, hasProviders }: Props) {
  return (
    <>
      <Form action="/forms/verify" flash={flash}>
        <TokenField />
        <Field
          name="password"
          label="Password"
          hint={
            signedInWith
              ? `The password you registered with. Leave it empty if you signed in with ${signedInWith}.`
              : "The password you registered with."
          }
          type="password"
          required={signedInWith === undefined}
          autoComplete="current-password"
        />
        <button type="submit">Verify email</button>
      </Form>
      {hasProviders && signedInWith === undefined && (
        <p className="aside">
          Signed up with a provider? <a href="/sign-in">Sign in with it again</a> in this browser, then open the link.
        </p>
      )}
      <p className="aside">
        Password not accepted? <a href="/forgot">Reset it</a>. This also verifies your email.
      </p>
    </>
  );
}
