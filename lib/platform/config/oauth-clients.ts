import { z } from "zod";
import { json } from "./values";

/** `http` on a loopback address, without a port (RFC 8252, section 7.3). */
const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?=\/|$)/;
/** A private-use scheme is a domain in reverse order (RFC 8252, section 7.1): "com.example.app". */
const PRIVATE_USE_SCHEME = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:/i;

const RedirectUri = z
  .string()
  .max(2048)
  .refine(
    isRedirectUri,
    "must be an https URL, an http URL on 127.0.0.1 or [::1], or a URL with a scheme such as com.example.app, without a fragment or credentials",
  );

/** A public client (RFC 6749, section 2.1): an app that cannot keep a secret. */
const OAuthClient = z.strictObject({
  id: z.string().regex(/^[\w.-]{1,64}$/, "must have 1 to 64 letters, digits, dots, dashes or underscores"),
  /** Shown to the user, and stored as the name of the sessions' device. */
  name: z.string().trim().min(1).max(64),
  /** An app without a browser needs none. */
  redirectUris: z.array(RedirectUri).max(20),
  /** Whether a device without a browser may sign in (RFC 8628). Default: only an app without redirect URIs. */
  deviceGrant: z.boolean().optional(),
});
export type OAuthClient = z.infer<typeof OAuthClient>;

const OAuthClients = z.array(OAuthClient).refine(hasUniqueIds, "must have a different id for each client");

/** `OAUTH_CLIENTS`: JSON, or the path of a file with it. */
export const oauthClients = json(OAuthClients, "[");

function isRedirectUri(value: string): boolean {
  if (!URL.canParse(value) || /[#\s\\]/.test(value)) return false;
  const { protocol, username, password } = new URL(value);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || LOOPBACK.test(value) || PRIVATE_USE_SCHEME.test(value);
}

function hasUniqueIds(clients: readonly OAuthClient[]): boolean {
  return new Set(clients.map(({ id }) => id)).size === clients.length;
}
