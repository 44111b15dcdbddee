import type { OAuthConfig } from "next-auth/providers/oauth";
import { z } from "zod";
import type { Context } from "../../context";
import { appleClientSecret } from "./apple-request";
import { parseProfile } from "./profile";

type Config = Context["config"];
type Provider = OAuthConfig<Record<string, unknown>>;

export const PROVIDER_NAMES = ["google", "apple", "github"] as const;
type ProviderName = (typeof PROVIDER_NAMES)[number];
const TITLES: Record<ProviderName, string> = { google: "Google", apple: "Apple", github: "GitHub" };

/** A provider's display name. */
export function providerTitle(provider: string): string {
  return TITLES[provider as ProviderName] ?? provider;
}

/**
 * The configured issuer of a provider. Identities are keyed by issuer and subject (OpenID Connect Core 1.0, 5.7), since
 * the issuer behind a provider's name can change, for example to a GitHub Enterprise Server.
 * @throws Error for an unknown provider
 */
export function issuerOf(config: Config, provider: string): string {
  const issuers: Record<ProviderName, string> = {
    google: config.AUTH_GOOGLE_ISSUER,
    apple: config.AUTH_APPLE_ISSUER,
    github: config.AUTH_GITHUB_ISSUER,
  };
  const known = PROVIDER_NAMES.find((name) => name === provider);
  if (!known) throw new Error(`Unknown sign-in provider: ${provider}`);
  return issuers[known];
}

/** Without a logo: next-auth would load it from another site. */
const style = (bg: string, text: string) => ({ logo: "", bg, text });
/** openid-client's default is 3.5 seconds. */
const httpOptions = { timeout: 10_000 };

/** The configured sign-in providers, as next-auth's options. */
export function oauthProviders(config: Config, now: Date): Provider[] {
  return [google(config), apple(config, now), github(config)].filter((provider) => provider !== null);
}

/** OpenID Connect Core 1.0, section 3.1, with PKCE (RFC 7636). */
function google({ AUTH_GOOGLE_ID, AUTH_GOOGLE_SECRET, AUTH_GOOGLE_ISSUER }: Config): Provider | null {
  if (!AUTH_GOOGLE_ID || !AUTH_GOOGLE_SECRET) return null;
  return {
    ...provider("google", style("#fff", "#000")),
    clientId: AUTH_GOOGLE_ID,
    clientSecret: AUTH_GOOGLE_SECRET,
    wellKnown: `${AUTH_GOOGLE_ISSUER}/.well-known/openid-configuration`,
    authorization: { params: { scope: "openid email profile" } },
    idToken: true,
    checks: ["pkce", "state", "nonce"],
  };
}

/**
 * Sign in with Apple. Apple requires `response_mode=form_post` for scopes; lib/auth/next-auth turns the POST into a GET.
 * The name is not requested: Apple sends it once, outside the signed token.
 */
function apple(config: Config, now: Date): Provider | null {
  const { AUTH_APPLE_ID, AUTH_APPLE_SECRET, AUTH_APPLE_ISSUER } = config;
  if (!AUTH_APPLE_ID || !AUTH_APPLE_SECRET) return null;
  return {
    ...provider("apple", style("#000", "#fff")),
    clientId: AUTH_APPLE_ID,
    clientSecret: appleClientSecret({ ...config, AUTH_APPLE_ID, AUTH_APPLE_SECRET }, now),
    wellKnown: `${AUTH_APPLE_ISSUER}/.well-known/openid-configuration`,
    authorization: { params: { scope: "openid email", response_mode: "form_post" } },
    idToken: true,
    checks: ["pkce", "state", "nonce"],
  };
}

/** GitHub or a GitHub Enterprise Server: OAuth 2.0 without OpenID Connect, so without a nonce. */
function github({ AUTH_GITHUB_ID, AUTH_GITHUB_SECRET, AUTH_GITHUB_ISSUER }: Config): Provider | null {
  if (!AUTH_GITHUB_ID || !AUTH_GITHUB_SECRET) return null;
  const api = AUTH_GITHUB_ISSUER === "https://github.com" ? "https://api.github.com" : `${AUTH_GITHUB_ISSUER}/api/v3`;
  return {
    ...provider("github", style("#24292f", "#fff")),
    clientId: AUTH_GITHUB_ID,
    clientSecret: AUTH_GITHUB_SECRET,
    issuer: `${AUTH_GITHUB_ISSUER}/login/oauth`, // the value of `iss` (RFC 9207)
    authorization: { url: `${AUTH_GITHUB_ISSUER}/login/oauth/authorize`, params: { scope: "read:user user:email" } },
    token: { url: `${AUTH_GITHUB_ISSUER}/login/oauth/access_token` },
    userinfo: { request: ({ tokens }) => fetchGitHubUser(api, tokens.access_token ?? "") },
    checks: ["pkce", "state"],
  };
}

function provider(id: ProviderName, buttonStyle: ReturnType<typeof style>) {
  const profile = (claims: unknown) => ({ id: parseProfile(id, claims).subject });
  return { id, name: TITLES[id], type: "oauth" as const, style: buttonStyle, httpOptions, profile };
}

const TIMEOUT_MS = 10_000;

const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/**
 * Fetches GitHub's user, with the primary verified email of GET /user/emails. The email in the profile is only the one
 * that the user chose to show (GitHub REST API, "Users" and "Emails").
 * @throws Error for a response that is not as documented
 */
async function fetchGitHubUser(api: string, accessToken: string): Promise<Record<string, unknown>> {
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${api}${path}`, {
      headers: { Authorization: `Bearer ${accessToken}`, Accept: "application/vnd.github+json" },
      redirect: "error", // a redirect would send the token to another host
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`GitHub responded to ${path} with ${response.status}`);
    return response.json();
  };
  const [user, emails] = await Promise.all([get("/user"), get("/user/emails?per_page=100")]);
  const primary = Emails.parse(emails).find(({ primary, verified }) => primary && verified);
  return { ...(user as Record<string, unknown>), email: primary?.email ?? null };
}
