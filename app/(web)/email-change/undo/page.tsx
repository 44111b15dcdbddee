import { Form } from "../../components/form";
import { flashOf, type PageProps, queryOf } from "../../components/page-props";
import { TokenField } from "../../components/token-field";

export const metadata = { title: "Undo the change of your email", robots: { index: false } };

/** The page of the link to the old email. Opening it changes nothing, because mail scanners follow links. */
export default async function Page(props: PageProps) {
  const { formErrors } = await queryOf(props);
  return (
    <div className="narrow">
      <h1>Undo the change of your email</h1>
      <p>If you did not change the email of your account, somebody else has access to it. This button</p>
      <ul>
        <li>restores your email,</li>
        <li>signs out all sessions and revokes all links that we sent by email,</li>
        <li>removes the password, and the sign-in providers and second factors that were added since,</li>
        <li>sends you a link to set a new password.</li>
      </ul>
      <Form action="/forms/undo-email-change" flash={await flashOf(formErrors)}>
        <TokenField />
        <button type="submit" className="danger">
          Restore my email
        </button>
      </Form>
      <p className="aside">
        <a href="/sign-in">Back to sign-in</a>
      </p>
    </div>
  );
}
