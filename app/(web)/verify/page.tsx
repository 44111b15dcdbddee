import { headers } from "next/headers";
import { readProfile } from "@/lib/accounts/profile";
import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { readPendingIdentityCookie } from "@/lib/auth/next-auth/respond";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import { AccountStep } from "../account/account-step";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { textsOf, titleOf } from "../language/page-language";
import { RegistrationForm } from "./registration-form";
import { ResendForm } from "./resend-form";
import { VERIFY } from "./texts";

export const generateMetadata = titleOf(VERIFY);

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const texts = await textsOf(VERIFY);
  const { formErrors, registered, sent } = await queryOf(props);
  const flash = await flashOf(formErrors ?? registered ?? sent);
  const given = await headers();
  const visitor = await findVisitor(given);
  const profile = visitor && (await readProfile(ctx, visitor.account.id));
  const isOwn = profile?.user.emailVerified === false;
  const identity = await readPendingIdentityCookie(ctx.config, given.get("cookie"));
  const providers = listSignInProviders(ctx);
  const flashFor = (form: string) => (flash?.form === form ? flash : null);
  const isVerified = profile?.user.emailVerified === true && formErrors === undefined;
  const email = isOwn ? profile.user.email : flash?.values.email;
  const registration = (
    <RegistrationForm
      texts={texts}
      flash={flashFor("/forms/verify")}
      signedInWith={providers.find(({ id }) => id === identity?.provider)?.name}
      hasProviders={providers.length > 0}
    />
  );
  if (isVerified) {
    return (
      <AccountStep title={texts.title} back={texts.toAccount}>
        <Notice>{texts.isVerified(profile.user.email)}</Notice>
        <details>
          <summary>{texts.anotherEmail}</summary>
          {registration}
        </details>
      </AccountStep>
    );
  }
  const isSent = email !== undefined && !isOwn && formErrors === undefined;
  return (
    <div className="narrow">
      <h1>{isSent ? texts.inbox(email) : texts.title}</h1>
      {sent !== undefined && <Notice>{texts.sentAgain}</Notice>}
      {isSent ? <p>{texts.sent}</p> : sent === undefined && <p>{texts.intro}</p>}
      {isOwn && (
        <Form action="/forms/account/verify" flash={flashFor("/forms/account/verify")}>
          <TokenField />
          <button type="submit">{texts.verifyEmail(profile.user.email)}</button>
        </Form>
      )}
      {!isOwn && !isSent && registration}
      <ResendForm texts={texts} flash={flashFor("/forms/verification")} email={email} />
      {isSent && <p className="aside">{texts.wrongEmail}</p>}
      {isSent && (
        <details>
          <summary>{texts.pasteLink}</summary>
          {registration}
        </details>
      )}
    </div>
  );
}
