import { base64url } from "../base64.js";
import type { Client } from "../http/client.js";
import { HomeportError } from "../http/problem.js";
import { readJson } from "../http/request.js";

/** A sign-in that has begun. It is JSON, so that an app can store it until the browser returns. */
export type PendingSignIn = {
  /** Open this in the system's browser. */
  url: string;
  redirectUri: string;
  state: string;
  codeVerifier: string;
};

/** Begins a sign-in through the browser: OAuth's authorization code with PKCE (RFC 8252, RFC 7636). */
export async function beginSignIn(client: Client, redirectUri: string): Promise<PendingSignIn> {
  const [state, codeVerifier] = [randomText(), randomText()];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier));
  const query = new URLSearchParams({
    client_id: clientIdOf(client),
    redirect_uri: redirectUri,
    response_type: "code",
    code_challenge: base64url(digest),
    code_challenge_method: "S256",
    state,
  });
  return { url: `${client.url}/api/auth/oauth/authorize?${query}`, redirectUri, state, codeVerifier };
}

/**
 * Completes a sign-in with the URL to which the browser has returned.
 * @throws HomeportError `access_denied` if the user canceled, `invalid_callback` if the URL belongs to another sign-in
 * (RFC 9207)
 */
export async function completeSignIn(client: Client, pending: PendingSignIn, callbackUrl: string): Promise<void> {
  const { searchParams } = new URL(callbackUrl);
  const isExpected = callbackUrl.startsWith(`${pending.redirectUri}?`) && searchParams.get("state") === pending.state;
  if (!isExpected || searchParams.get("iss") !== client.url) throw new HomeportError("invalid_callback");
  const error = searchParams.get("error");
  if (error !== null) throw new HomeportError(error, { detail: searchParams.get("error_description") ?? undefined });
  await exchange(client, {
    grant_type: "authorization_code",
    code: searchParams.get("code") ?? "",
    redirect_uri: pending.redirectUri,
    code_verifier: pending.codeVerifier,
  });
}

export type IdTokenSignIn = {
  /** Of "Sign in with Apple" or Google. */
  idToken: string;
  /** The text that the app made for this sign-in. */
  nonce: string;
  /** Apple sends it only at the first sign-in. */
  name?: string;
  authorizationCode?: string;
};

/** Signs in with an ID token of Apple or Google (RFC 8693). @throws HomeportError such as `second_factor_required` */
export async function signInWithIdToken(client: Client, given: IdTokenSignIn): Promise<void> {
  const { idToken, nonce, name, authorizationCode } = given;
  await exchange(client, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: idToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    nonce,
    ...(name === undefined ? {} : { name }),
    ...(authorizationCode === undefined ? {} : { authorization_code: authorizationCode }),
  });
}

/** Exchanges a grant for an access token, and keeps it (RFC 6749, section 5). @throws HomeportError with OAuth's code */
export async function exchange(client: Client, grant: Record<string, string>): Promise<void> {
  if (!client.session) throw new TypeError("A client with cookies has no access token");
  const body = new URLSearchParams({ client_id: clientIdOf(client), ...grant });
  const result = await readJson(await client.send("POST", "/api/auth/oauth/token", { body }));
  await client.session.set((result as { access_token: string }).access_token);
}

/** @throws TypeError if the client was created without it */
export function clientIdOf({ clientId }: Pick<Client, "clientId">): string {
  if (clientId === undefined) throw new TypeError("createClient needs the clientId for this sign-in");
  return clientId;
}

/** 32 random bytes (RFC 7636, section 4.1). */
const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)).buffer);
