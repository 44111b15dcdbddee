import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Notice } from "../parts/notice";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";

export const metadata = { title: "Forgot your password?" };

export default async function Page(props: PageProps) {
  const { again, sent } = await queryOf(props);
  return (
    <div className="narrow">
      <h1>Forgot your password?</h1>
      {sent === undefined ? (
        <Form action="/forms/forgot" trouble={await flashOf(again)}>
          <p>Tell us your e-mail address, and we send you a link with which you choose a new password.</p>
          <Field name="email" label="E-mail" type="email" required autoComplete="username" />
          <button type="submit">Send the link</button>
        </Form>
      ) : (
        <>
          <Notice>If there is an account with this address, a mail is on its way.</Notice>
          <p>
            The link in it is good for 30 minutes. No mail? Look into the spam folder, or{" "}
            <a href="/forgot">try another address</a>.
          </p>
        </>
      )}
      <p className="aside">
        <a href="/sign-in">Back to signing in</a>
      </p>
    </div>
  );
}
