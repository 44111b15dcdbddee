import { Field } from "../components/field";
import { Form, type FormState } from "../components/form";

type Props = { flash: FormState | null; email: string | undefined };

/** Sends the link again: to the email that was just registered, or to the one that is entered. */
export function ResendForm({ flash, email }: Props) {
  return (
    <Form action="/forms/verification" flash={flash}>
      <p className="aside">No email? Check your spam folder, or get another link.</p>
      {email === undefined || flash ? (
        <Field name="email" label="Email" type="email" required autoComplete="username" />
      ) : (
        <input type="hidden" name="email" value={email} />
      )}
      <button type="submit" className="quiet">
        Send the link again
      </button>
    </Form>
  );
}
