import { defineTexts } from "../language/texts";

type User = { name: string | null; email: string };

const Who = ({ user: { name, email } }: { user: User }) => (
  <>
    <strong>{name ?? email}</strong>
    {name !== null && ` (${email})`}
  </>
);

export const AUTHORIZE = defineTexts({
  en: {
    title: "Sign in to an app",
    heading: (app: string) => `Continue to ${app}`,
    intro: (app: string, user: User) => (
      <>
        <strong>{app}</strong> on this device will be signed in as <Who user={user} />. Continue only if you started
        this in {app}.
      </>
    ),
    allow: (name: string) => `Continue as ${name}`,
    otherAccount: "Use another account",
    invalidTitle: "This link does not work",
    invalid: "The app that sent you here is not registered, or its request is incomplete.",
    advice: "Go back to the app and try again. If it does not help, update the app.",
  },
  de: {
    title: "Bei einer App anmelden",
    heading: (app) => `Weiter zu ${app}`,
    intro: (app, user) => (
      <>
        <strong>{app}</strong> auf diesem Gerät wird als <Who user={user} /> angemeldet. Fahren Sie nur fort, wenn Sie
        das in {app} begonnen haben.
      </>
    ),
    allow: (name) => `Weiter als ${name}`,
    otherAccount: "Anderes Konto verwenden",
    invalidTitle: "Dieser Link funktioniert nicht",
    invalid: "Die App, die Sie hierher geschickt hat, ist nicht registriert, oder ihre Anfrage ist unvollständig.",
    advice:
      "Gehen Sie zurück zur App und versuchen Sie es noch einmal. Wenn das nicht hilft, aktualisieren Sie die App.",
  },
});
