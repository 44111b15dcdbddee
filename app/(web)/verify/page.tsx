import { headers } from "next/headers";
import { readProfile } from "@/lib/accounts/profile";
import { listSignInProviders } from "@/lib/auth/next-auth/call-from-forms";
import { readPendingIdentityCookie } from "@/lib/auth/next-auth/respond";
import { findVisitor, pageContext } from "@/lib/auth/visitor";
import { AccountStep } from "../account/account-step";
import { Field } from "../components/field";
import { Form, type FormState } from "../components/form";
import { Notice } from "../components/notice";
import { flashOf, type PageProps, queryOf } from "../components/page-props";
import { TokenField } from "../components/token-field";
import { COMMON } from "../language/common-texts";
import { textsOf, titleOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const VERIFY = defineTexts({
  en: {
    title: "Verify your email",
    intro: "We sent a link to your email address. Continue only if you created this account.",
    sentAgain: "If this email has to be verified, we have sent another link.",
    verifyEmail: (email: string) => `Verify ${email}`,
    isVerified: (email: string) => `You are signed in, and ${email} is verified.`,
    toAccount: "Your account",
    anotherEmail: "Verify the email of another account",
    inbox: (email: string) => `Check your inbox at ${email}`,
    sent: "Open the link in our email within 24 hours to finish your account.",
    pasteLink: "The link opened in another browser?",
    wrongEmail: (
      <>
        Wrong address? <a href="/register">Register with another one</a>
      </>
    ),
    passwordHint: "The password you registered with.",
    passwordOrProviderHint: (provider: string) =>
      `The password you registered with. Leave it empty if you signed in with ${provider}.`,
    submit: "Verify email",
    byProvider: (
      <>
        Signed up with a provider? <a href="/sign-in">Sign in with it again</a> in this browser, then open the link.
      </>
    ),
    notAccepted: (
      <>
        Password not accepted? <a href="/forgot">Reset it</a>. This also verifies your email.
      </>
    ),
    noEmail: "No email? Check your spam folder, or get another link.",
    again: "Send the link again",
  },
  de: {
    title: "E-Mail-Adresse bestätigen",
    intro:
      "Wir haben einen Link an Ihre E-Mail-Adresse geschickt. Fahren Sie nur fort, wenn Sie dieses Konto erstellt haben.",
    sentAgain: "Wenn diese E-Mail-Adresse noch zu bestätigen ist, haben wir einen neuen Link geschickt.",
    verifyEmail: (email) => `${email} bestätigen`,
    isVerified: (email) => `Sie sind angemeldet, und ${email} ist bestätigt.`,
    toAccount: "Ihr Konto",
    anotherEmail: "Die E-Mail-Adresse eines anderen Kontos bestätigen",
    inbox: (email) => `Sehen Sie im Postfach von ${email} nach`,
    sent: "Öffnen Sie den Link in unserer E-Mail innerhalb von 24 Stunden, um Ihr Konto fertigzustellen.",
    pasteLink: "Der Link wurde in einem anderen Browser geöffnet?",
    wrongEmail: (
      <>
        Falsche Adresse? <a href="/register">Mit einer anderen registrieren</a>
      </>
    ),
    passwordHint: "Das Passwort, mit dem Sie sich registriert haben.",
    passwordOrProviderHint: (provider) =>
      `Das Passwort, mit dem Sie sich registriert haben. Lassen Sie es leer, wenn Sie sich mit ${provider} angemeldet haben.`,
    submit: "E-Mail-Adresse bestätigen",
    byProvider: (
      <>
        Mit einem Anbieter registriert? <a href="/sign-in">Melden Sie sich noch einmal damit an</a>, in diesem Browser,
        und öffnen Sie dann den Link.
      </>
    ),
    notAccepted: (
      <>
        Passwort nicht akzeptiert? <a href="/forgot">Setzen Sie es zurück</a>. Auch das bestätigt Ihre E-Mail-Adresse.
      </>
    ),
    noEmail: "Keine E-Mail? Sehen Sie im Spam-Ordner nach, oder fordern Sie einen neuen Link an.",
    again: "Link noch einmal senden",
  },
});

type VerifyTexts = (typeof VERIFY)["en"];

export const generateMetadata = titleOf(VERIFY);

export default async function Page(props: PageProps) {
  const ctx = pageContext();
  const texts = await textsOf(VERIFY);
  const { formErrors, registered, sent } = await queryOf(props);
  const flash = await flashOf(formErrors ?? registered ?? sent);
  const given = await headers();
  const visitor = await findVisitor(given);
  const profile = visitor && (await readProfile(ctx, visitor.account.id));
  const isOwn = profile != null && (!profile.user.emailVerified || profile.user.emailProblem !== null);
  const identity = await readPendingIdentityCookie(ctx.config, given.get("cookie"));
  const providers = listSignInProviders(ctx);
  const flashFor = (form: string) => (flash?.form === form ? flash : null);
  const isVerified = profile != null && !isOwn && formErrors === undefined;
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

type RegistrationProps = {
  texts: VerifyTexts;
  flash: FormState | null;
  /** The provider with which this browser signed in before the email was verified. */
  signedInWith: string | undefined;
  hasProviders: boolean;
};

/** Confirms an email by the emailed token and by the registration that its owner made. */
async function RegistrationForm({ texts, flash, signedInWith, hasProviders }: RegistrationProps) {
  const { password } = await textsOf(COMMON);
  return (
    <>
      <Form action="/forms/verify" flash={flash}>
        <TokenField />
        <Field
          name="password"
          label={password}
          hint={signedInWith ? texts.passwordOrProviderHint(signedInWith) : texts.passwordHint}
          type="password"
          required={signedInWith === undefined}
          autoComplete="current-password"
        />
        <button type="submit">{texts.submit}</button>
      </Form>
      {hasProviders && signedInWith === undefined && <p className="aside">{texts.byProvider}</p>}
      <p className="aside">{texts.notAccepted}</p>
    </>
  );
}

type ResendProps = Pick<RegistrationProps, "texts" | "flash"> & { email: string | undefined };

/** Sends the link again: to the email that was just registered, or to the one that is entered. */
async function ResendForm({ texts, flash, email }: ResendProps) {
  const { email: label } = await textsOf(COMMON);
  return (
    <Form action="/forms/verification" flash={flash}>
      <p className="aside">{texts.noEmail}</p>
      {email === undefined || flash ? (
        <Field name="email" label={label} type="email" required autoComplete="username" />
      ) : (
        <input type="hidden" name="email" value={email} />
      )}
      <button type="submit" className="quiet">
        {texts.again}
      </button>
    </Form>
  );
}
