import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";

export const metadata = { title: "Make an account" };

export default async function Page(props: PageProps) {
  const { again } = await queryOf(props);
  const least = pageContext().config.AUTH_PASSWORD_MIN;
  return (
    <div className="narrow">
      <h1>Make an account</h1>
      <Form action="/forms/register" trouble={await flashOf(again)}>
        <Field name="name" label="Name (optional)" autoComplete="name" maxLength={80} />
        <Field name="email" label="E-mail" type="email" required autoComplete="username" />
        <Field
          name="password"
          label="Password"
          hint={`At least ${least} characters. A few words in a row are easy to remember.`}
          type="password"
          required
          autoComplete="new-password"
        />
        <button type="submit">Make an account</button>
      </Form>
      <p className="aside">
        You have one? <a href="/sign-in">Sign in</a>
      </p>
    </div>
  );
}
