import { createECDH } from "node:crypto";
import { text } from "./values";

/** The push services of Chrome, Firefox, Safari and Edge. */
export const PUSH_SERVICE_HOSTS = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "*.push.apple.com",
  "*.notify.windows.com",
];

/** A P-256 private key as `web-push generate-vapid-keys` prints it: 32 bytes in base64url. */
export const vapidPrivateKey = text.refine(isPrivateKey, "must be a private key of P-256: 32 bytes in base64url");

function isPrivateKey(value: string): boolean {
  if (!/^[\w-]{43}$/.test(value)) return false;
  try {
    createECDH("prime256v1").setPrivateKey(value, "base64url");
    return true;
  } catch {
    return false; // zero, or beyond the order of the curve
  }
}

type Settings = { VAPID_SUBJECT?: string | undefined; baseUrl: string };

/** By which push services reach the operator (RFC 8292, section 2.1). */
export function vapidSubject({ VAPID_SUBJECT, baseUrl }: Settings): string {
  return VAPID_SUBJECT ?? (baseUrl.startsWith("https:") ? baseUrl : "mailto:no-reply@localhost");
}
