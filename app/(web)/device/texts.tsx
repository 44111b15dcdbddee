import { defineTexts } from "../language/texts";

export const DEVICE = defineTexts({
  en: {
    title: "Connect a device",
    allowed: "Your device is signed in. You can close this page.",
    denied: "The request was refused. The device is not signed in.",
    codeHint: "Enter the code that your device shows.",
    question: (app: string, email: string) => (
      <>
        Allow <strong>{app}</strong> to sign in as <strong>{email}</strong>?
      </>
    ),
    requested: "Requested",
    from: (network: string) => `from ${network}`,
    warning: "Allow it only if your own device shows this code. If somebody sent you the code, refuse.",
    operator: "Also give this device my rights as an operator, to the console and the admin API",
    allow: "Allow",
    refuse: "Refuse",
  },
  de: {
    title: "Gerät verbinden",
    allowed: "Ihr Gerät ist angemeldet. Sie können diese Seite schließen.",
    denied: "Die Anfrage wurde abgelehnt. Das Gerät ist nicht angemeldet.",
    codeHint: "Geben Sie den Code ein, den Ihr Gerät zeigt.",
    question: (app, email) => (
      <>
        Darf sich <strong>{app}</strong> als <strong>{email}</strong> anmelden?
      </>
    ),
    requested: "Angefragt",
    from: (network) => `aus dem Netz ${network}`,
    warning:
      "Erlauben Sie es nur, wenn Ihr eigenes Gerät diesen Code zeigt. Wenn Ihnen jemand den Code geschickt hat, lehnen Sie ab.",
    operator: "Diesem Gerät auch meine Rechte zum Betrieb geben, an der Konsole und der Admin-API",
    allow: "Erlauben",
    refuse: "Ablehnen",
  },
});

export type DeviceTexts = (typeof DEVICE)["en"];
