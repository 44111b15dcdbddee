import { headers } from "next/headers";
import { recallIdentity } from "@/lib/auth/next-auth/pending-identity";
import { listSignInProviders } from "@/lib/http/next-auth/from-forms";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";

export const metadata = { title: "Verify your email" };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { formErrors } = await queryOf(props);
  const identity = await recallIdentity(ctx.config, (await headers()).get("cookie"));
  const providers = listSignInProviders(ctx);
  const signedInWith = providers.find(({ id }) => id === identity?.provider)?.name;
  return (
    <div className="narrow">
      <h1>Verify your email</h1>
      <p>We sent a link to your email address. Continue only if you created this account.</p>
      <Form action="/forms/verify" flash={await flashOf(formErrors)}>
        <TokenField />
        <Field
          name="password"
          label="Password"
          hint={
            signedInWith
              ? `The password you registered with. Leave it empty if you signed in with ${signedInWith}.`
              : "The password you registered with."
          }
          type="password"
          required={signedInWith === undefined}
          autoComplete="current-password"
        />
        <button type="submit">Verify email</button>
      </Form>
      {providers.length > 0 && signedInWith === undefined && (
        <p className="aside">
          Signed up with a provider? <a href="/sign-in">Sign in with it again</a> in this browser, then open the link.
        </p>
      )}
      <p className="aside">
        No email? Check your spam folder, or <a href="/sign-in">sign in</a> with your password to get a new link.
      </p>
      <p className="aside">
        Password not accepted? <a href="/forgot">Reset it</a>. This also verifies your email.
      </p>
    </div>
  );
}
