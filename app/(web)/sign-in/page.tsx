import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { pageContext } from "@/lib/auth/visitor";
import { continuingTo, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { findAuthorization } from "../authorize/find-authorization";
import { Field, PasswordField } from "../components/field";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { SupportLink } from "../components/support-link";
import { titleOf } from "../language/page-language";
import { SignInWithPasskey } from "../passkeys/sign-in-with-passkey";
import { errorMessage, linkedProvidersMessage, successMessage } from "./messages";
import { ProviderButton } from "./provider-button";
import { SIGN_IN } from "./texts";

export const generateMetadata = titleOf(SIGN_IN, { isPublic: true });

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { query, flash, locale, texts, common } = await readPage(props, SIGN_IN);
  const { error, done, callbackUrl, linked } = query;
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, ctx.config, "/account");
  const client = findAuthorization(next)?.client;
  const isOnlyAsked = error === "SessionRequired";
  const success = done && successMessage(done, locale);
  const wasReset = ["password_reset", "invitation_accepted", "email_restored"].includes(done ?? "");
  const linkedProviders = wasReset && linkedProvidersMessage(linked, locale);
  const providers = listSignInProviders(ctx);
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      {client && <p>{texts.toContinue(client.name)}</p>}
      {error && !flash && !(client && isOnlyAsked) && (
        <Notice kind={isOnlyAsked ? "info" : "error"}>{errorMessage(error, locale)}</Notice>
      )}
      {success && !flash && <Notice>{success}</Notice>}
      {linkedProviders && !flash && <Notice>{linkedProviders}</Notice>}
      <Form action="/forms/sign-in" flash={flash}>
        <input type="hidden" name="callbackUrl" value={next} />
        <Field name="email" label={common.email} type="email" required autoComplete="username webauthn" />
        <PasswordField label={common.password} />
        <button type="submit">{texts.title}</button>
      </Form>
      <SignInWithPasskey next={next} />
      {providers.length > 0 && <p className="separator">{texts.or}</p>}
      {providers.map(({ id, name }) => (
        <ProviderButton key={id} id={id} callbackUrl={next}>
          {texts.withProvider(name)}
        </ProviderButton>
      ))}
      <p className="aside">
        <a href={continuingTo(next, "/forgot")}>{texts.forgot}</a>
      </p>
      <p className="aside">
        {texts.newHere} <a href={continuingTo(next, "/register")}>{common.createAccount}</a>
      </p>
      {((error && !isOnlyAsked) || flash) && <SupportLink />}
    </div>
  );
}
