import { PROVIDER_NAMES, providerTitle } from "@/lib/auth/sign-in-providers/providers";
import { ERRORS, type ErrorCode } from "@/lib/errors";
import type { Locale } from "@/lib/platform/locale";
import { translateError } from "../language/german-errors";
import { defineTexts } from "../language/texts";

const MESSAGES = defineTexts({
  en: {
    /** The `error` values of next-auth's redirects (its documentation, "Pages", "Sign-in page" and "Error page"). */
    nextAuth: {
      SessionRequired: "Sign in to continue.",
      CredentialsSignin: "The email or password is incorrect.",
      Verification: "This link has been used or has expired. Sign in to get a new one.",
      OAuthSignin: "The provider cannot be reached. Try again in a few minutes, or sign in another way.",
      OAuthCallback:
        "The sign-in could not be completed. It may have been used already, or started in another browser. Try again.",
      Callback: "The sign-in was canceled, or the provider reported an error.",
    },
    /** What the user can do about an error of ours. It follows the error's title. */
    advice: {
      email_not_verified: "Open the link in the email that we sent you, then sign in.",
      account_disabled: "Contact us if you think that this is a mistake.",
      identity_unverified: "Sign in to that account the way you usually do. You can then add this provider to it.",
      email_taken: "Sign in to that account the way you usually do.",
      identity_in_use: "Sign out, then sign in with this provider.",
      identity_without_email: "Verify your email with the provider, or create an account with an email and password.",
      reauthentication_required: "Adding a provider requires a recent sign-in.",
      unauthenticated: "Your session ended before the provider could be added. Nothing was changed.",
      rate_limited: "Wait a few minutes, then try again.",
    },
    success: {
      password_reset: "Your password was changed, and all sessions were signed out. Sign in with the new password.",
      invitation_accepted: "Your account is set up. Sign in with the password or the passkey that you chose.",
      email_restored:
        "Your email was restored, and all sessions were signed out. We have sent you a link to set a new password.",
      signed_out: "You have been signed out.",
    },
    failed: "The sign-in failed. Try again.",
    linked: ([first = "", ...others]: string[]) =>
      others.length === 0
        ? `You can still sign in with ${first}. If you did not add it, sign in and remove it on the account page.`
        : `You can still sign in with ${[first, ...others].join(" and ")}. If you did not add them, sign in and remove them on the account page.`,
  },
  de: {
    nextAuth: {
      SessionRequired: "Melden Sie sich an, um fortzufahren.",
      CredentialsSignin: "E-Mail-Adresse oder Passwort stimmen nicht.",
      Verification:
        "Dieser Link wurde schon benutzt oder ist abgelaufen. Melden Sie sich an, um einen neuen zu bekommen.",
      OAuthSignin:
        "Der Anbieter ist nicht erreichbar. Versuchen Sie es in ein paar Minuten erneut oder melden Sie sich anders an.",
      OAuthCallback:
        "Die Anmeldung konnte nicht abgeschlossen werden. Vielleicht wurde sie schon benutzt oder in einem anderen Browser begonnen. Versuchen Sie es noch einmal.",
      Callback: "Die Anmeldung wurde abgebrochen, oder der Anbieter hat einen Fehler gemeldet.",
    },
    advice: {
      email_not_verified:
        "Öffnen Sie den Link in der E-Mail, die wir Ihnen geschickt haben, und melden Sie sich dann an.",
      account_disabled: "Schreiben Sie uns, wenn Sie das für einen Irrtum halten.",
      identity_unverified:
        "Melden Sie sich bei diesem Konto an wie gewohnt. Danach können Sie diesen Anbieter hinzufügen.",
      email_taken: "Melden Sie sich bei diesem Konto an wie gewohnt.",
      identity_in_use: "Melden Sie sich ab und dann mit diesem Anbieter an.",
      identity_without_email:
        "Bestätigen Sie Ihre E-Mail-Adresse beim Anbieter oder erstellen Sie ein Konto mit E-Mail-Adresse und Passwort.",
      reauthentication_required: "Um einen Anbieter hinzuzufügen, müssen Sie sich kürzlich angemeldet haben.",
      unauthenticated:
        "Ihre Sitzung endete, bevor der Anbieter hinzugefügt werden konnte. Es hat sich nichts geändert.",
      rate_limited: "Warten Sie ein paar Minuten und versuchen Sie es dann erneut.",
    },
    success: {
      password_reset:
        "Ihr Passwort wurde geändert, und alle Sitzungen wurden beendet. Melden Sie sich mit dem neuen Passwort an.",
      invitation_accepted:
        "Ihr Konto ist eingerichtet. Melden Sie sich mit dem Passwort oder dem Passkey an, den Sie gewählt haben.",
      email_restored:
        "Ihre E-Mail-Adresse wurde wiederhergestellt, und alle Sitzungen wurden beendet. Wir haben Ihnen einen Link geschickt, mit dem Sie ein neues Passwort festlegen.",
      signed_out: "Sie sind abgemeldet.",
    },
    failed: "Die Anmeldung ist fehlgeschlagen. Versuchen Sie es noch einmal.",
    linked: ([first = "", ...others]) =>
      others.length === 0
        ? `Sie können sich weiterhin mit ${first} anmelden. Wenn Sie das nicht hinzugefügt haben, melden Sie sich an und entfernen Sie es auf der Kontoseite.`
        : `Sie können sich weiterhin mit ${[first, ...others].join(" und ")} anmelden. Wenn Sie diese Anbieter nicht hinzugefügt haben, melden Sie sich an und entfernen Sie sie auf der Kontoseite.`,
  },
});

/** The message for an `error` parameter of next-auth or of ours. Never contains the parameter itself. */
export function errorMessage(error: string, locale: Locale): string {
  const { nextAuth, advice, failed } = MESSAGES[locale];
  const known = find(nextAuth, error);
  if (known) return known;
  const toDo = find(advice, error);
  if (toDo === undefined) return failed;
  return `${translateError(ERRORS[error as ErrorCode][1], locale)}. ${toDo}`;
}

/** The message for a `done` parameter; undefined for unknown values. */
export function successMessage(done: string, locale: Locale): string | undefined {
  return find(MESSAGES[locale].success, done);
}

/** Names the providers that can still sign in after a password reset, from the `linked` parameter. */
export function linkedProvidersMessage(linked: string | undefined, locale: Locale): string | undefined {
  const linkedIds = linked?.split(",") ?? [];
  const titles = PROVIDER_NAMES.filter((name) => linkedIds.includes(name)).map(providerTitle);
  return titles.length === 0 ? undefined : MESSAGES[locale].linked(titles);
}

function find(messages: Record<string, string>, key: string): string | undefined {
  return Object.hasOwn(messages, key) ? messages[key] : undefined;
}
