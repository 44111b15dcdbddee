import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";

export const metadata = { title: "Create account" };

export default async function Page(props: PageProps) {
  const { formErrors } = await queryOf(props);
  const minLength = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <div className="narrow">
      <h1>Create account</h1>
      <Form action="/forms/register" flash={await flashOf(formErrors)}>
        <Field name="name" label="Name (optional)" autoComplete="name" maxLength={80} />
        <Field name="email" label="Email" type="email" required autoComplete="username" />
        <Field
          name="password"
          label="Password"
          hint={`At least ${minLength} characters. A few random words are easy to remember.`}
          type="password"
          required
          autoComplete="new-password"
        />
        <button type="submit">Create account</button>
      </Form>
      <p className="aside">
        Already have an account? <a href="/sign-in">Sign in</a>
      </p>
    </div>
  );
}
