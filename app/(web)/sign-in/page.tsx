import { listSignInProviders } from "@/lib/http/next-auth/from-forms";
import { ownPath } from "@/lib/http/pages/own-path";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { SignInWithPasskey } from "../passkeys/sign-in-with-passkey";
import { errorMessage, linkedProvidersMessage, successMessage } from "./messages";

export const metadata = { title: "Sign in" };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { error, done, formErrors, callbackUrl, linked } = await queryOf(props);
  const flash = await flashOf(formErrors);
  const next = ownPath(callbackUrl ?? flash?.values.callbackUrl, ctx.config.baseUrl, "/account");
  const success = done && successMessage(done);
  const linkedProviders = (done === "password_reset" || done === "email_restored") && linkedProvidersMessage(linked);
  const providers = listSignInProviders(ctx);
  return (
    <div className="narrow">
      <h1>Sign in</h1>
      {error && !flash && <Notice kind="error">{errorMessage(error)}</Notice>}
      {success && !flash && <Notice>{success}</Notice>}
      {linkedProviders && !flash && <Notice>{linkedProviders}</Notice>}
      <Form action="/forms/sign-in" flash={flash}>
        <input type="hidden" name="callbackUrl" value={next} />
        <Field name="email" label="Email" type="email" required autoComplete="username webauthn" />
        <Field name="password" label="Password" type="password" required autoComplete="current-password" />
        <button type="submit">Sign in</button>
      </Form>
      <SignInWithPasskey next={next} />
      {providers.length > 0 && <p className="separator">or</p>}
      {providers.map(({ id, name }) => (
        <Form key={id} action="/forms/provider">
          <input type="hidden" name="callbackUrl" value={next} />
          <input type="hidden" name="provider" value={id} />
          <button type="submit" className="quiet">
            Sign in with {name}
          </button>
        </Form>
      ))}
      <p className="aside">
        <a href="/forgot">Forgot your password?</a>
      </p>
      <p className="aside">
        New here? <a href="/register">Create account</a>
      </p>
    </div>
  );
}
