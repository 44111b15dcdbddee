import type { Client } from "../http/client.js";
import { request, type Schemas } from "../http/request.js";

export type User = Schemas["User"];
export type SessionUser = NonNullable<Schemas["NextAuthSession"]["user"]>;
export type Credentials = Omit<Schemas["Login"], "transport">;
export type Registration = Omit<Schemas["Register"], "transport">;

/**
 * Signs in with an email and a password.
 * @throws HomeportError such as `invalid_credentials`, `email_not_verified`, `rate_limited` with `retryAfterSeconds`, and
 *   `second_factor_required`, whose `body.challenge` `completeSecondFactor` takes
 */
export async function signInWithPassword(client: Client, credentials: Credentials): Promise<User> {
  const body = { ...credentials, transport: transportOf(client) };
  return keepSession(client, await request(client, "POST", "/api/auth/login", { body }));
}

/**
 * Completes a sign-in with a code of the user's authenticator app, or with a recovery code.
 * @throws HomeportError `invalid_code`, `invalid_challenge`, `rate_limited`
 */
export async function completeSecondFactor(
  client: Client,
  proof: { challenge: string; code: string } | { challenge: string; recoveryCode: string },
): Promise<User> {
  return keepSession(client, await request(client, "POST", "/api/auth/login/factor", { body: proof }));
}

/**
 * Creates an account and signs in. Resolves to null if the user has to verify the email first.
 * @throws HomeportError such as `email_taken`, `validation_failed`
 */
export async function register(client: Client, registration: Registration): Promise<User | null> {
  const body = { ...registration, transport: transportOf(client) };
  const result = await request(client, "POST", "/api/auth/register", { body });
  return "user" in result ? keepSession(client, result) : null;
}

/** The signed-in user, or null. Forgets the token of a session that has ended. */
export async function currentUser(client: Client): Promise<SessionUser | null> {
  const token = (await client.session?.token()) ?? null;
  if (client.session && token === null) return null;
  const { user } = await request(client, "GET", "/api/auth/session");
  if (!user && token !== null) await client.session?.end(token);
  return user ?? null;
}

/** Signs out: ends the session and removes its push devices. Forgets the token even if the service is out of reach. */
export async function signOut(client: Client): Promise<void> {
  const { session } = client;
  if (!session) return signOutOfBrowser(client);
  try {
    if ((await session.token()) !== null) await client.send("POST", "/api/auth/signout");
  } finally {
    await session.set(null);
  }
}

/**
 * The page on which a web app's user signs in with any provider, and from which the browser returns to the app. Its
 * origin has to be in `AUTH_TRUSTED_ORIGINS`.
 */
export function signInPage({ url }: Pick<Client, "url">, callbackUrl: string): string {
  return `${url}/sign-in?${new URLSearchParams({ callbackUrl })}`;
}

async function signOutOfBrowser(client: Client): Promise<void> {
  const { csrfToken } = await request(client, "GET", "/api/auth/csrf");
  await client.send("POST", "/api/auth/signout", { body: new URLSearchParams({ csrfToken, json: "true" }) });
}

const transportOf = ({ session }: Client) => (session ? ("token" as const) : ("cookie" as const));

async function keepSession({ session }: Client, { user, token }: Schemas["Auth"]): Promise<User> {
  if (session && token !== undefined) await session.set(token);
  return user;
}
