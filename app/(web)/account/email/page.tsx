import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { AccountHeading } from "../account-heading";
import { Reauthentication } from "../reauthentication";
import { requireRecentVisitor } from "../require-visitor";

export const metadata = { title: "Change email", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { user, hasPassword } = await requireRecentVisitor("/account/email", { asksForPassword: true });
  const { formErrors } = await queryOf(props);
  return (
    <div className="narrow">
      <AccountHeading title="Change email" />
      <p>
        Your email is {user.email}. We send a link to the new one. Nothing changes before you open that link, signed in
        to this account.
      </p>
      {user.emailVerified && <p>We also send a link to {user.email}, which undoes the change within 7 days.</p>}
      <Form action="/forms/account/email" flash={await flashOf(formErrors)}>
        <Field name="email" label="New email" type="email" required autoComplete="email" />
        <Reauthentication email={user.email} hasPassword={hasPassword} returnTo="/account/email" />
        <button type="submit">Send link</button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
