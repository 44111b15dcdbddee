import { RESET_TTL_MINUTES } from "@/lib/accounts/password-reset";
import { pageContext } from "@/lib/auth/visitor";
import { continuingTo, trustedUrl } from "@/lib/platform/http/pages/redirect-paths";
import { Field } from "../components/field";
import { Form } from "../components/form";
import { Notice } from "../components/notice";
import { type PageProps, readPage } from "../components/page-props";
import { titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Forgot your password?",
    intro: "Enter your email address, and we will send you a link to reset your password.",
    submit: "Send reset link",
    sent: "If an account with this email exists, we have sent a reset link.",
    next: (
      <>
        The link is valid for {RESET_TTL_MINUTES} minutes. No email? Check your spam folder, or{" "}
        <a href="/forgot">try another address</a>.
      </>
    ),
  },
  de: {
    title: "Passwort vergessen?",
    intro: "Geben Sie Ihre E-Mail-Adresse ein. Wir schicken Ihnen einen Link, mit dem Sie Ihr Passwort zurücksetzen.",
    submit: "Link senden",
    sent: "Wenn es ein Konto mit dieser E-Mail-Adresse gibt, haben wir einen Link geschickt.",
    next: (
      <>
        Der Link gilt {RESET_TTL_MINUTES} Minuten. Keine E-Mail? Sehen Sie im Spam-Ordner nach oder{" "}
        <a href="/forgot">versuchen Sie eine andere Adresse</a>.
      </>
    ),
  },
});

export const generateMetadata = titleOf(TEXTS, { isPublic: true });

export default async function Page(props: PageProps) {
  const { query, flash, texts, common } = await readPage(props, TEXTS);
  const { sent, callbackUrl } = query;
  const next = trustedUrl(callbackUrl ?? flash?.values.callbackUrl, pageContext().config, "/account");
  return (
    <div className="narrow">
      <h1>{texts.title}</h1>
      {sent === undefined ? (
        <Form action="/forms/forgot" flash={flash}>
          {next !== "/account" && <input type="hidden" name="callbackUrl" value={next} />}
          <p>{texts.intro}</p>
          <Field name="email" label={common.email} type="email" required autoComplete="username" />
          <button type="submit">{texts.submit}</button>
        </Form>
      ) : (
        <>
          <Notice>{texts.sent}</Notice>
          <p>{texts.next}</p>
        </>
      )}
      <p className="aside">
        <a href={continuingTo(next, "/sign-in")}>{common.backToSignIn}</a>
      </p>
    </div>
  );
}
