import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";

export const metadata = { title: "This was not me", robots: { index: false } };

export default async function Page(props: PageProps) {
  const { done, formErrors } = await queryOf(props);
  if (done !== undefined) return <Done />;
  return (
    <div className="narrow">
      <h1>This was not you?</h1>
      <p>
        Then somebody else has access to your account. Sign out all devices now. We then send you a link to set a new
        password.
      </p>
      <Form action="/forms/not-me" flash={await flashOf(formErrors)}>
        <TokenField />
        <button type="submit">Sign out all devices</button>
      </Form>
      <p className="aside">
        If it was you, close this page: nothing has changed. You can also <a href="/forgot">reset your password</a>.
      </p>
    </div>
  );
}

function Done() {
  return (
    <div className="narrow">
      <h1>All devices are signed out</h1>
      <Notice>We have sent you a link to set a new password. It is valid for 30 minutes.</Notice>
      <p>
        Until you set a new password, somebody who knows the old one can sign in again. Change the password of your
        mailbox as well, if somebody else may know it.
      </p>
      <p className="aside">
        No email? <a href="/forgot">Request another link</a>
      </p>
    </div>
  );
}
