import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { MailedToken } from "../parts/mailed-token";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";

export const metadata = { title: "Choose a new password" };

export default async function Page(props: PageProps) {
  const { again } = await queryOf(props);
  const least = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <div className="narrow">
      <h1>Choose a new password</h1>
      <Form action="/forms/reset" trouble={await flashOf(again)}>
        <MailedToken />
        <Field
          name="password"
          label="New password"
          hint={`At least ${least} characters. You will be signed out everywhere.`}
          type="password"
          required
          autoComplete="new-password"
        />
        <button type="submit">Change the password</button>
      </Form>
      <p className="aside">
        <a href="/forgot">Ask for a new link</a>
      </p>
    </div>
  );
}
