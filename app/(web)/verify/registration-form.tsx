import { Field } from "../components/field";
import { Form, type FormState } from "../components/form";
import { TokenField } from "../components/token-field";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import type { VerifyTexts } from "./texts";

type Props = {
  texts: VerifyTexts;
  flash: FormState | null;
  /** The provider with which this browser signed in before the email was verified. */
  signedInWith: string | undefined;
  hasProviders: boolean;
};

/** Confirms an email by the emailed token and by the registration that its owner made. */
export async function RegistrationForm({ texts, flash, signedInWith, hasProviders }: Props) {
  const { password } = await textsOf(COMMON);
  return (
    <>
      <Form action="/forms/verify" flash={flash}>
        <TokenField />
        <Field
          name="password"
          label={password}
          hint={signedInWith ? texts.passwordOrProviderHint(signedInWith) : texts.passwordHint}
          type="password"
          required={signedInWith === undefined}
          autoComplete="current-password"
        />
        <button type="submit">{texts.submit}</button>
      </Form>
      {hasProviders && signedInWith === undefined && <p className="aside">{texts.byProvider}</p>}
      <p className="aside">{texts.notAccepted}</p>
    </>
  );
}
