import { randomUUID } from "node:crypto";
import { afterAll, beforeEach } from "vitest";
import { loadConfig } from "@/lib/platform/config";
import { IdentityProvider, type Person } from "@/tests/support/auth/identity-provider";
import { BASE_URL, ctx, setUpContext, withContext } from "@/tests/support/context";

/** Starts and configures a fake of each provider for a test file. `withProviders` runs with other variables. */
export async function setUpProviders() {
  const [google, apple, github] = await Promise.all([
    IdentityProvider.start("google", BASE_URL),
    IdentityProvider.start("apple", BASE_URL),
    IdentityProvider.start("github", BASE_URL),
  ]);
  const providers = [google, apple, github];
  beforeEach(() => {
    for (const provider of providers) {
      provider.alterToken = (claims) => claims;
      provider.alterJwt = (jwt) => jwt;
    }
  });
  afterAll(() => {
    for (const provider of providers) provider.close();
  });
  const configOf = (change: Record<string, string>) => {
    const variables = { ...google.variables, ...apple.variables, ...github.variables, ...change };
    const config: Record<string, unknown> = loadConfig(variables);
    return Object.fromEntries(Object.keys(variables).map((name) => [name, config[name]]));
  };
  setUpContext({ config: configOf({}) });
  const withProviders = <T>(change: Record<string, string>, run: () => Promise<T>): Promise<T> =>
    withContext({ config: configOf(change) }, run);
  return { google, apple, github, withProviders };
}

export const newEmail = () => `person-${randomUUID()}@example.com`;

const newSub = () => String(Math.floor(Math.random() * 2 ** 48));

/** A person at Google with an email of a domain that Google hosts. */
export const googlePerson = (email: string, claims: object = {}): Person => ({
  sub: newSub(),
  claims: {
    email,
    email_verified: true,
    hd: "example.com",
    name: "Ann",
    picture: "https://example.com/ann.png",
    ...claims,
  },
});

export const applePerson = (email: string): Person => ({ sub: newSub(), claims: { email, email_verified: "true" } });

export const gitHubPerson = (email: string): Person => ({
  sub: newSub(),
  claims: { login: "ann", name: "Ann", email: null, avatar_url: "https://example.com/ann.png" },
  emails: [
    { email: newEmail(), primary: false, verified: true },
    { email, primary: true, verified: true },
  ],
});

export const identitiesOf = (accountId: string) => ctx().db.identity.findMany({ where: { accountId } });

export const markVerified = (id: string) =>
  ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: new Date() } });

export const errorOf = (location: string) => new URL(location).searchParams.get("error");
