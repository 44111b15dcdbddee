import { WebAuthnError } from "@simplewebauthn/browser";
import type { Locale } from "@/lib/platform/locale";
import { translateError } from "../language/german-errors";
import { defineTexts } from "../language/texts";
import { RefusedRequest } from "./post-json";

const MESSAGES = defineTexts({
  en: {
    isAddedAlready: "Your account has a passkey on this device already.",
    cannotCheckUser: "This device cannot check who you are. Use another one.",
    cannotStore: "This device cannot store passkeys. Use another one.",
    isWrongHost: "Passkeys do not work at this web address.",
    unreachable: "The service cannot be reached. Check your connection and try again.",
    unused: "No passkey was used. Try again, or choose another way.",
  },
  de: {
    isAddedAlready: "Ihr Konto hat bereits einen Passkey auf diesem Gerät.",
    cannotCheckUser: "Dieses Gerät kann nicht prüfen, wer Sie sind. Benutzen Sie ein anderes.",
    cannotStore: "Dieses Gerät kann keine Passkeys aufbewahren. Benutzen Sie ein anderes.",
    isWrongHost: "Passkeys funktionieren unter dieser Webadresse nicht.",
    unreachable: "Der Dienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.",
    unused: "Es wurde kein Passkey verwendet. Versuchen Sie es noch einmal oder wählen Sie einen anderen Weg.",
  },
});

const BY_CODE: Partial<Record<WebAuthnError["code"], keyof (typeof MESSAGES)["en"]>> = {
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: "isAddedAlready",
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT: "cannotCheckUser",
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT: "cannotStore",
  ERROR_INVALID_DOMAIN: "isWrongHost",
  ERROR_INVALID_RP_ID: "isWrongHost",
};

/** The message for a failed use of a passkey. Browsers do not tell whether the user canceled or had no passkey. */
export function passkeyMessage(error: unknown, locale: Locale): string {
  if (error instanceof RefusedRequest) return `${translateError(error.message.replace(/\.$/, ""), locale)}.`;
  const known = error instanceof WebAuthnError ? BY_CODE[error.code] : undefined;
  if (known) return MESSAGES[locale][known];
  return error instanceof TypeError ? MESSAGES[locale].unreachable : MESSAGES[locale].unused;
}

/** Whether another use of a passkey on the page replaced this one. */
export function isReplaced(error: unknown): boolean {
  return error instanceof WebAuthnError && error.code === "ERROR_CEREMONY_ABORTED";
}
