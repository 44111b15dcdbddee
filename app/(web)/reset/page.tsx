import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";

export const metadata = { title: "Set a new password" };

export default async function Page(props: PageProps) {
  const { formErrors } = await queryOf(props);
  const minLength = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <div className="narrow">
      <h1>Set a new password</h1>
      <Form action="/forms/reset" flash={await flashOf(formErrors)}>
        <TokenField />
        <Field
          name="password"
          label="New password"
          hint={`At least ${minLength} characters. You will be signed out everywhere.`}
          type="password"
          required
          autoComplete="new-password"
        />
        <button type="submit">Change password</button>
      </Form>
      <p className="aside">
        <a href="/forgot">Request a new link</a>
      </p>
    </div>
  );
}
