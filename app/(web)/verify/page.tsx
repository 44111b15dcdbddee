import { headers } from "next/headers";
import { listSignInProviders } from "@/lib/auth/next-auth/from-pages";
import { recallIdentity } from "@/lib/auth/next-auth/pending-identity";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { MailedToken } from "../parts/mailed-token";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";

export const metadata = { title: "Confirm your address" };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { again } = await queryOf(props);
  const identity = await recallIdentity(ctx.config, (await headers()).get("cookie"));
  const providers = await listSignInProviders(ctx);
  const signedInWith = providers.find(({ id }) => id === identity?.provider)?.name;
  return (
    <div className="narrow">
      <h1>Confirm your address</h1>
      <p>We have sent you a mail with a link. Confirm only if it was you who made an account with this address.</p>
      <Form action="/forms/verify" trouble={await flashOf(again)}>
        <MailedToken />
        <Field
          name="password"
          label="Password"
          hint={
            signedInWith
              ? `The one that you registered with. Leave it empty if you signed in with ${signedInWith}.`
              : "The one that you registered with."
          }
          type="password"
          required={signedInWith === undefined}
          autoComplete="current-password"
        />
        <button type="submit">This address is mine</button>
      </Form>
      {providers.length > 0 && signedInWith === undefined && (
        <p className="aside">
          You signed in with a provider? <a href="/sign-in">Do so again</a> in this browser, then open the link.
        </p>
      )}
      <p className="aside">
        No mail? Look into the spam folder, or <a href="/sign-in">sign in</a> with your password to get another.
      </p>
      <p className="aside">
        The password is not accepted? <a href="/forgot">Set a new one</a>: that confirms your address as well.
      </p>
    </div>
  );
}
