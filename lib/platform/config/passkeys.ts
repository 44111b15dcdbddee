import { z } from "zod";
import { list } from "./values";

const DOMAIN = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)*[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/;

/** `AUTH_PASSKEY_RP_ID`: the domain that passkeys belong to. */
export const domain = z.string().trim().toLowerCase().regex(DOMAIN, "must be a domain, such as example.com");

/** `AUTH_PASSKEY_APPLE_APPS`: app IDs, each a team ID and a bundle ID. */
export const appleApps = list.pipe(
  z.array(z.string().regex(/^[A-Z\d]{10}\.[\w.-]+$/, "must be a team ID and a bundle ID: ABCDE12345.com.example.app")),
);

/** An Android app, and the SHA-256 fingerprint of the certificate that signs it. */
export type AndroidApp = { packageName: string; fingerprint: string };

/** `AUTH_PASSKEY_ANDROID_APPS`: package names, each with a fingerprint as `keytool` and Google Play print it. */
export const androidApps = list.pipe(
  z.array(
    z
      .string()
      .regex(/^[\w.]+=[\dA-F]{2}(?::[\dA-F]{2}){31}$/i, "must be a package and a SHA-256: com.example.app=14:6D:E9:…")
      .transform((entry): AndroidApp => {
        const [packageName = "", fingerprint = ""] = entry.split("=");
        return { packageName, fingerprint: fingerprint.toUpperCase() };
      }),
  ),
);

type Given = { NEXTAUTH_URL?: string; AUTH_PASSKEY_RP_ID?: string };

/** Browsers refuse an RP ID that is not the page's host or a domain above it. */
export function relyingPartyErrors({ NEXTAUTH_URL, AUTH_PASSKEY_RP_ID: rpId }: Given): string[] {
  const { hostname } = new URL(NEXTAUTH_URL ?? "http://localhost");
  if (rpId === undefined || hostname === rpId || hostname.endsWith(`.${rpId}`)) return [];
  return ["AUTH_PASSKEY_RP_ID: must be the host of NEXTAUTH_URL, or a domain above it"];
}
