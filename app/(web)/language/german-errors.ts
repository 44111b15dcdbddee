import type { Locale } from "@/lib/platform/locale";

/** The errors that forms show, in German, by their English text without the full stop at the end. */
const GERMAN: Record<string, string> = {
  "Adding a provider requires a recent sign-in":
    "Um einen Anbieter hinzuzufügen, müssen Sie sich kürzlich angemeldet haben",
  "An account with this email already exists, and the provider cannot confirm that it is yours":
    "Es gibt bereits ein Konto mit dieser E-Mail-Adresse, und der Anbieter kann nicht bestätigen, dass es Ihres ist",
  "An account with this email already exists": "Es gibt bereits ein Konto mit dieser E-Mail-Adresse",
  "Is required": "Wird benötigt",
  "Must be a time such as 22:00": "Muss eine Uhrzeit wie 22:00 sein",
  "Must be an email address": "Muss eine E-Mail-Adresse sein",
  "Must be DELETE": "Muss DELETE lauten",
  "Must have at most 64 characters before the @": "Darf höchstens 64 Zeichen vor dem @ haben",
  "Must not be the start": "Darf nicht der Beginn sein",
  "Must not be your email address": "Darf nicht Ihre E-Mail-Adresse sein",
  "Must not be empty": "Darf nicht leer sein",
  "Not found": "Nicht gefunden",
  Required: "Wird benötigt",
  "Sign in again in another tab, and then send this here":
    "Melden Sie sich in einem anderen Tab noch einmal an, und senden Sie es dann hier",
  "Sign in again to continue": "Melden Sie sich noch einmal an, um fortzufahren",
  "Sign in to continue": "Melden Sie sich an, um fortzufahren",
  "Some fields are invalid": "Einige Felder sind ungültig",
  "Something went wrong on our side": "Bei uns ist etwas schiefgegangen",
  "That code is not current. Turn on automatic date and time":
    "Dieser Code gilt gerade nicht. Schalten Sie auf Ihrem Gerät die automatische Uhrzeit ein",
  "The account already has an authenticator app": "Das Konto hat bereits eine Authenticator-App",
  "The account has no second factor": "Das Konto hat keinen zweiten Faktor",
  "The account is disabled": "Das Konto ist gesperrt",
  "The code is unknown, used or expired": "Der Code ist unbekannt, verbraucht oder abgelaufen",
  "The code is wrong, used or expired": "Der Code ist falsch, verbraucht oder abgelaufen",
  "The email is not verified": "Die E-Mail-Adresse ist nicht bestätigt",
  "The email or password is incorrect": "E-Mail-Adresse oder Passwort stimmen nicht",
  "The enrollment has expired": "Die Einrichtung ist abgelaufen",
  "The passkey could not be verified": "Der Passkey konnte nicht geprüft werden",
  "The provider did not return an email address": "Der Anbieter hat keine E-Mail-Adresse mitgeteilt",
  "The service cannot be reached. Check your connection and try again":
    "Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut",
  "The service is busy": "Der Dienst ist ausgelastet",
  "The service is temporarily unavailable": "Der Dienst ist vorübergehend nicht verfügbar",
  "The sign-in has expired or is already complete": "Die Anmeldung ist abgelaufen oder schon abgeschlossen",
  "The sign-in provider does not respond": "Der Anbieter antwortet nicht",
  "The token is invalid or has expired": "Der Link ist ungültig oder abgelaufen",
  "This code is no longer valid. Get a new one on your device":
    "Dieser Code gilt nicht mehr. Holen Sie sich auf Ihrem Gerät einen neuen",
  "This code is wrong, used or expired": "Dieser Code ist falsch, verbraucht oder abgelaufen",
  "This identity is linked to another account": "Diese Anmeldung gehört zu einem anderen Konto",
  "This is not the password you registered with": "Das ist nicht das Passwort, mit dem Sie sich registriert haben",
  "This is not your password": "Das ist nicht Ihr Passwort",
  "This is the account's only way to sign in": "Das ist die einzige Anmeldemethode des Kontos",
  "This is already your email": "Das ist bereits Ihre E-Mail-Adresse",
  "This is your only way to sign in. Set a password or add another passkey first":
    "Das ist Ihre einzige Anmeldemethode. Legen Sie zuerst ein Passwort fest oder fügen Sie einen weiteren Passkey hinzu",
  "This link is no longer valid": "Dieser Link gilt nicht mehr",
  "This link is no longer valid, or belongs to another account":
    "Dieser Link gilt nicht mehr oder gehört zu einem anderen Konto",
  "This link is no longer valid. Request a new one": "Dieser Link gilt nicht mehr. Fordern Sie einen neuen an",
  "This link is no longer valid. Reset your password instead":
    "Dieser Link gilt nicht mehr. Setzen Sie stattdessen Ihr Passwort zurück",
  "This link is no longer valid. Sign in to get a new one":
    "Dieser Link gilt nicht mehr. Melden Sie sich an, um einen neuen zu bekommen",
  "This passkey has already been added": "Dieser Passkey wurde schon hinzugefügt",
  "This provider is not linked to your account": "Dieser Anbieter ist nicht mit Ihrem Konto verknüpft",
  "This QR code has expired. Start again": "Dieser QR-Code ist abgelaufen. Beginnen Sie noch einmal",
  "This password appeared in a data breach": "Dieses Passwort ist durch ein Datenleck bekannt",
  "This password is too common": "Dieses Passwort wird zu häufig benutzt",
  "This session has already ended": "Diese Sitzung ist schon beendet",
  "This was not sent, because you had to sign in again. Check it, and send it now":
    "Das wurde nicht gesendet, weil Sie sich noch einmal anmelden mussten. Prüfen Sie es, und senden Sie es jetzt",
  "Too many passkeys": "Zu viele Passkeys",
  "Too many requests": "Zu viele Versuche",
  "Try again in a minute": "Versuchen Sie es in einer Minute erneut",
  "Verify your email first. We have sent you a link":
    "Bestätigen Sie zuerst Ihre E-Mail-Adresse. Wir haben Ihnen einen Link geschickt",
  "You are not allowed to do this": "Das dürfen Sie nicht",
  "You have signed in with another account meanwhile. Reload the page":
    "Sie haben sich inzwischen mit einem anderen Konto angemeldet. Laden Sie die Seite neu",
  "Your account has no authenticator app": "Ihr Konto hat keine Authenticator-App",
};

/** Errors with a number. */
const PATTERNS: readonly [pattern: RegExp, german: string][] = [
  [/^Must be at most (\d+) characters long$/, "Darf höchstens $1 Zeichen lang sein"],
  [/^Must be at least (\d+) characters long$/, "Muss mindestens $1 Zeichen lang sein"],
  [/^Try again in (\d+) minutes$/, "Versuchen Sie es in $1 Minuten erneut"],
  [/^Try again in (\d+) hours$/, "Versuchen Sie es in $1 Stunden erneut"],
];

/** An error of a form in the page's language. A text that has no translation stays as it is. */
export function translateError(text: string, locale: Locale): string {
  if (locale === "en" || text === "") return text;
  const whole = germanOf(text);
  if (whole !== undefined) return whole;
  // A title with what to do about it, such as when to try again.
  const [, first = "", rest = ""] = /^(.+?\.) (.+)$/.exec(text) ?? [];
  const [title, advice] = [germanOf(first), germanOf(rest)];
  return title !== undefined && advice !== undefined ? `${title} ${advice}` : text;
}

function germanOf(text: string): string | undefined {
  const stop = text.endsWith(".") ? "." : "";
  const sentence = stop === "" ? text : text.slice(0, -1);
  const known = Object.hasOwn(GERMAN, sentence) ? GERMAN[sentence] : undefined;
  if (known !== undefined) return known + stop;
  const pattern = PATTERNS.find(([one]) => one.test(sentence));
  return pattern && sentence.replace(...pattern) + stop;
}
