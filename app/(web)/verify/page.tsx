import { headers } from "next/headers";
import { readProfile } from "@/lib/accounts/profile";
import { recallIdentity } from "@/lib/auth/next-auth/pending-identity";
import { listSignInProviders } from "@/lib/http/next-auth/from-forms";
import { findVisitor, pageContext } from "@/lib/http/pages/visitor";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { RegistrationForm } from "./registration-form";
import { ResendForm } from "./resend-form";

export const metadata = { title: "Verify your email" };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { formErrors, registered, sent } = await queryOf(props);
  const flash = await flashOf(formErrors ?? registered ?? sent);
  const given = await headers();
  const visitor = await findVisitor(given);
  const profile = visitor && (await readProfile(ctx, visitor.account.id));
  const isOwn = profile?.user.emailVerified === false;
  const identity = await recallIdentity(ctx.config, given.get("cookie"));
  const providers = listSignInProviders(ctx);
  const flashFor = (form: string) => (flash?.form === form ? flash : null);
  return (
    <div className="narrow">
      <h1>Verify your email</h1>
      {sent === undefined ? (
        <p>We sent a link to your email address. Continue only if you created this account.</p>
      ) : (
        <Notice>If this email has to be verified, we have sent another link.</Notice>
      )}
      {isOwn ? (
        <Form action="/forms/account/verify" flash={flashFor("/forms/account/verify")}>
          <TokenField />
          <button type="submit">Verify {profile.user.email}</button>
        </Form>
      ) : (
        <RegistrationForm
          flash={flashFor("/forms/verify")}
          signedInWith={providers.find(({ id }) => id === identity?.provider)?.name}
          hasProviders={providers.length > 0}
        />
      )}
      <ResendForm flash={flashFor("/forms/verification")} email={isOwn ? profile.user.email : flash?.values.email} />
    </div>
  );
}
