import { AccountHeading } from "../account/account-heading";
import { requireVisitor } from "../account/require-visitor";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";

export const metadata = { title: "Confirm your new email", robots: { index: false } };

/** The page of the link to the new email. Opening it changes nothing, because mail scanners follow links. */
export default async function Page(props: PageProps) {
  const { user } = await requireVisitor("/email-change");
  const { formErrors } = await queryOf(props);
  return (
    <div className="narrow">
      <AccountHeading title="Confirm your new email" />
      <p>You are signed in as {user.email}. From now on you will sign in with the email that got the link.</p>
      <p>Continue only if you asked for this change yourself.</p>
      <Form action="/forms/email-change" flash={await flashOf(formErrors)}>
        <TokenField />
        <button type="submit">Change email</button>
      </Form>
      <p className="aside">
        <a href="/account">Cancel</a>
      </p>
    </div>
  );
}
