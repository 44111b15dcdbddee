import { listSignInProviders } from "@/lib/auth/next-auth/from-pages";
import { ownPath } from "@/lib/http/pages/own-path";
import { pageContext } from "@/lib/http/pages/visitor";
import { Field } from "../parts/field";
import { Form } from "../parts/form";
import { Notice } from "../parts/notice";
import { flashOf, type PageProps, queryOf } from "../parts/search-params";
import { doneInWords, errorInWords, linkedInWords } from "./words";

export const metadata = { title: "Sign in" };

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const { error, done, again, callbackUrl, linked } = await queryOf(props);
  const flash = await flashOf(again);
  const next = ownPath(callbackUrl ?? flash?.values.callbackUrl, ctx.config.baseUrl, "/account");
  const doneWords = done && doneInWords(done);
  const linkedWords = done === "password_reset" && linkedInWords(linked);
  const providers = await listSignInProviders(ctx);
  return (
    <div className="narrow">
      <h1>Sign in</h1>
      {error && !flash && <Notice kind="wrong">{errorInWords(error)}</Notice>}
      {doneWords && !flash && <Notice>{doneWords}</Notice>}
      {linkedWords && !flash && <Notice>{linkedWords}</Notice>}
      <Form action="/forms/sign-in" trouble={flash}>
        <input type="hidden" name="callbackUrl" value={next} />
        <Field name="email" label="E-mail" type="email" required autoComplete="username" />
        <Field name="password" label="Password" type="password" required autoComplete="current-password" />
        <button type="submit">Sign in</button>
      </Form>
      {providers.length > 0 && <p className="or">or</p>}
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
        New here? <a href="/register">Make an account</a>
      </p>
    </div>
  );
}
