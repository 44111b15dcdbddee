import { defineTexts } from "../language/texts";

export const VERIFY = defineTexts({
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

export type VerifyTexts = (typeof VERIFY)["en"];
