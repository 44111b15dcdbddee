import { Field } from "../components/field";
import { Form, type FormState } from "../components/form";
import { COMMON } from "../language/common-texts";
import { textsOf } from "../language/page-language";
import type { VerifyTexts } from "./texts";

type Props = { texts: VerifyTexts; flash: FormState | null; email: string | undefined };

/** Sends the link again: to the email that was just registered, or to the one that is entered. */
export async function ResendForm({ texts, flash, email }: Props) {
  const { email: label } = await textsOf(COMMON);
  return (
    <Form action="/forms/verification" flash={flash}>
      <p className="aside">{texts.noEmail}</p>
      {email === undefined || flash ? (
        <Field name="email" label={label} type="email" required autoComplete="username" />
      ) : (
        <input type="hidden" name="email" value={email} />
      )}
      <button type="submit" className="quiet">
        {texts.again}
      </button>
    </Form>
  );
}
