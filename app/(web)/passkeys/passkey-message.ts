import { WebAuthnError } from "@simplewebauthn/browser";
import { RefusedRequest } from "./post-json";

const WEBAUTHN_MESSAGES: Partial<Record<WebAuthnError["code"], string>> = {
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: "Your account has a passkey on this device already.",
  ERROR_AUTHENTICATOR_MISSING_USER_VERIFICATION_SUPPORT: "This device cannot check who you are. Use another one.",
  ERROR_AUTHENTICATOR_MISSING_DISCOVERABLE_CREDENTIAL_SUPPORT: "This device cannot store passkeys. Use another one.",
  ERROR_INVALID_DOMAIN: "Passkeys do not work at this web address.",
  ERROR_INVALID_RP_ID: "Passkeys do not work at this web address.",
};

/** The message for a failed use of a passkey. Browsers do not tell whether the user canceled or had no passkey. */
export function passkeyMessage(error: unknown): string {
  if (error instanceof RefusedRequest) return `${error.message.replace(/\.$/, "")}.`;
  const known = error instanceof WebAuthnError ? WEBAUTHN_MESSAGES[error.code] : undefined;
  if (known) return known;
  if (error instanceof TypeError) return "The service cannot be reached. Check your connection and try again.";
  return "No passkey was used. Try again, or choose another way.";
}

/** Whether another use of a passkey on the page replaced this one. */
export function isReplaced(error: unknown): boolean {
  return error instanceof WebAuthnError && error.code === "ERROR_CEREMONY_ABORTED";
}
