import type { Config } from "../../platform/config";

type PasskeyConfig = Pick<
  Config,
  "baseUrl" | "AUTH_TRUSTED_ORIGINS" | "AUTH_PASSKEY_RP_ID" | "AUTH_PASSKEY_APPLE_APPS" | "AUTH_PASSKEY_ANDROID_APPS"
>;

/** The domain that passkeys belong to (Web Authentication Level 3, section 4, "RP ID"). */
export function relyingPartyId({ baseUrl, AUTH_PASSKEY_RP_ID }: PasskeyConfig): string {
  return AUTH_PASSKEY_RP_ID ?? new URL(baseUrl).hostname;
}

/**
 * The origins whose responses are accepted: the service's own, the trusted ones, and those of the configured apps. iOS
 * sends the RP ID as an https origin; Android sends the hash of the app's signing certificate.
 */
export function passkeyOrigins(config: PasskeyConfig): string[] {
  return [
    config.baseUrl,
    ...config.AUTH_TRUSTED_ORIGINS,
    ...(config.AUTH_PASSKEY_APPLE_APPS.length > 0 ? [`https://${relyingPartyId(config)}`] : []),
    ...config.AUTH_PASSKEY_ANDROID_APPS.map(({ fingerprint }) => androidOrigin(fingerprint)),
  ];
}

/** Android Developers, "Sign in your user with Credential Manager", "Verify the origin". */
function androidOrigin(fingerprint: string): string {
  return `android:apk-key-hash:${Buffer.from(fingerprint.replaceAll(":", ""), "hex").toString("base64url")}`;
}
