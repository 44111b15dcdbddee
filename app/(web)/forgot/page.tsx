import { Field } from "../components/field";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";

export const metadata = { title: "Forgot your password?" };

export default async function Page(props: PageProps) {
  const { formErrors, sent } = await queryOf(props);
  return (
    <div className="narrow">
      <h1>Forgot your password?</h1>
      {sent === undefined ? (
        <Form action="/forms/forgot" flash={await flashOf(formErrors)}>
          <p>Enter your email address, and we will send you a link to reset your password.</p>
          <Field name="email" label="Email" type="email" required autoComplete="username" />
          <button type="submit">Send reset link</button>
        </Form>
      ) : (
        <>
          <Notice>If an account with this email exists, we have sent a reset link.</Notice>
          <p>
            The link is valid for 30 minutes. No email? Check your spam folder, or{" "}
            <a href="/forgot">try another address</a>.
          </p>
        </>
      )}
      <p className="aside">
        <a href="/sign-in">Back to sign-in</a>
      </p>
    </div>
  );
}
