import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unlinkIdentities } from "@/lib/admin/accounts";
import { appleClientSecret } from "@/lib/auth/oauth/apple-client-secret";
import { loadConfig } from "@/lib/config";
import { eventsOf, newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import {
  csrfToken,
  followCallback,
  Jar,
  postForm,
  postFromApple,
  SESSION_COOKIE,
  session,
  signIn,
  signInWith,
  startProvider,
} from "@/tests/support/auth/browser";
import { IdentityProvider, type Person } from "@/tests/support/auth/identity-provider";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";

type AppleConfig = Parameters<typeof appleClientSecret>[0];

let google: IdentityProvider;
let apple: IdentityProvider;
let github: IdentityProvider;

beforeAll(async () => {
  [google, apple, github] = await Promise.all([
    IdentityProvider.start("google", BASE_URL),
    IdentityProvider.start("apple", BASE_URL),
    IdentityProvider.start("github", BASE_URL),
  ]);
});
beforeEach(() => {
  for (const provider of [google, apple, github]) provider.alterToken = (claims) => claims;
});
afterAll(() => {
  for (const provider of [google, apple, github]) provider.close();
});

/** Runs with all three providers configured. */
function withProviders<T>(run: () => Promise<T>, change: Record<string, string> = {}): Promise<T> {
  const variables = { ...google.variables, ...apple.variables, ...github.variables, ...change };
  const config: Record<string, unknown> = loadConfig(variables);
  return withContext({ config: Object.fromEntries(Object.keys(variables).map((name) => [name, config[name]])) }, run);
}

const newEmail = () => `person-${randomUUID()}@example.com`;
const newSub = () => String(Math.floor(Math.random() * 2 ** 48));

/** A person at Google with an email of a domain that Google hosts. */
const googlePerson = (email: string, claims: object = {}): Person => ({
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
const applePerson = (email: string): Person => ({ sub: newSub(), claims: { email, email_verified: "true" } });
const gitHubPerson = (email: string): Person => ({
  sub: newSub(),
  claims: { login: "ann", name: "Ann", email: null, avatar_url: "https://example.com/ann.png" },
  emails: [
    { email: newEmail(), primary: false, verified: true },
    { email, primary: true, verified: true },
  ],
});

const identitiesOf = (accountId: string) => ctx().db.identity.findMany({ where: { accountId } });
const markVerified = (id: string) => ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: new Date() } });
const errorOf = (location: string) => new URL(location).searchParams.get("error");

describe.each([
  ["Google", () => google, googlePerson, true],
  ["Apple", () => apple, applePerson, false],
  ["GitHub", () => github, gitHubPerson, false],
] as const)("%s", (_, provider, personWith, isAuthoritative) => {
  test("the first sign-in creates an account without a password, and the second one signs in to it", async () => {
    await withProviders(async () => {
      const email = newEmail();
      provider().person = personWith(email.toUpperCase());
      const jar = new Jar();
      expect(await signInWith(provider(), jar, "/welcome")).toBe(`${BASE_URL}/welcome`);
      expect(await session(jar)).toMatchObject({ user: { email } });
      expect((await get("/api/push/devices", { cookie: jar.header })).status).toBe(200);

      const account = await ctx().db.account.findUniqueOrThrow({
        where: { email },
        include: { sessions: true, identities: true },
      });
      const emailVerifiedAt = isAuthoritative ? expect.any(Date) : null;
      expect(account).toMatchObject({ passwordHash: null, emailVerifiedAt });
      expect(account.sessions).toMatchObject([{ transport: "cookie", revokedAt: null }]);
      expect(account.identities).toMatchObject([{ provider: provider().id, subject: provider().person.sub }]);
      expect(await eventsOf(account.id)).toEqual(["registered", "identity_linked", "signed_in"]);

      const other = new Jar();
      await signInWith(provider(), other);
      expect(await session(other)).toMatchObject({ user: { id: account.id } });
      expect(await ctx().db.session.count({ where: { accountId: account.id, revokedAt: null } })).toBe(2);
    });
  });

  test("an account without a password refuses any password", async () => {
    await withProviders(async () => {
      const email = newEmail();
      provider().person = personWith(email);
      await signInWith(provider(), new Jar());
      const response = await post("/api/auth/login", { email, password: "any password" });
      expect(response.status).toBe(401);
    });
  });
});

describe("linking", () => {
  test("if both the provider and the account have verified the email, the identity is linked and the password stays", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      await markVerified(account.id);
      google.person = googlePerson(account.email);
      const jar = new Jar();
      expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
      expect(await session(jar)).toMatchObject({ user: { id: account.id } });
      expect((await post("/api/auth/login", account)).status).toBe(200);
      expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
      const message = await mailbox.waitFor(account.email);
      expect(message).toContain("You can now sign in with Google");
      expect(message).not.toContain("no password");
    });
  });

  test("an earlier registration that never verified the email loses all access", async () => {
    await withProviders(async () => {
      const squatter = await newAccount();
      const jar = new Jar();
      await signIn(jar, squatter);
      github.person = gitHubPerson(newEmail());
      await signInWith(github, jar);
      expect(await identitiesOf(squatter.id)).toHaveLength(1);
      await post("/api/auth/reset/request", { email: squatter.email });
      await mailbox.waitFor(squatter.email); // the token is created when the email is sent

      google.person = googlePerson(squatter.email);
      const owner = new Jar();
      await signInWith(google, owner);
      expect(await session(owner)).toMatchObject({ user: { id: squatter.id } });
      expect((await post("/api/auth/login", squatter)).status).toBe(401);
      expect((await get("/api/push/devices", { token: squatter.token })).status).toBe(401);
      expect(await session(jar)).toEqual({});
      expect(await identitiesOf(squatter.id)).toMatchObject([{ provider: "google" }]);
      expect(await ctx().db.passwordResetToken.count({ where: { accountId: squatter.id } })).toBe(0);
      const returning = new Jar();
      await signInWith(github, returning);
      expect(await session(returning)).not.toMatchObject({ user: { id: squatter.id } });
    });
  });

  test("an owner who loses an unverified account's password is notified by email", async () => {
    await withProviders(async () => {
      const { email } = await newAccount();
      google.person = googlePerson(email);
      await signInWith(google, new Jar());
      const message = await mailbox.waitFor(email);
      expect(message).toContain("You can now sign in with Google");
      expect(message).toContain("Your account has no password");
    });
  });

  test("an operator can unlink a stranger's identity, which ends the sessions", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      const jar = new Jar();
      await signIn(jar, account);
      google.person = googlePerson(newEmail());
      await signInWith(google, jar);
      github.person = gitHubPerson(newEmail());
      await signInWith(github, jar);
      expect(await unlinkIdentities(ctx(), account.id, "apple")).toBe(0);
      expect(await session(jar)).toMatchObject({ user: { id: account.id } });
      expect(await unlinkIdentities(ctx(), account.id, "google")).toBe(1);
      expect(await session(jar)).toEqual({});
      const stranger = new Jar();
      await signInWith(google, stranger);
      expect(await session(stranger)).not.toMatchObject({ user: { id: account.id } });
      expect(await identitiesOf(account.id)).toMatchObject([{ provider: "github" }]);
    });
  });

  test("a reset that verifies the email removes the identities that were linked before", async () => {
    await withProviders(async () => {
      const squatter = await newAccount();
      const jar = new Jar();
      await signIn(jar, squatter);
      github.person = gitHubPerson(newEmail());
      await signInWith(github, jar);
      await mailbox.waitFor(squatter.email);
      await post("/api/auth/reset/request", { email: squatter.email });
      const [, token] = /#token=([\w-]+)/.exec(await mailbox.waitFor(squatter.email, 2)) ?? [];
      await post("/api/auth/reset/confirm", { token, password: "the owner's password" });
      expect(await identitiesOf(squatter.id)).toEqual([]);
    });
  });

  test.each([
    ["the provider has not verified", { email_verified: false }],
    ["the provider returns without email_verified", { email_verified: undefined }],
    ["Google verified once but does not host", { hd: undefined }],
  ])("an email that %s is linked to no account", async (_, claims) => {
    await withProviders(async () => {
      const account = await newAccount();
      await markVerified(account.id);
      google.person = googlePerson(account.email, claims);
      const jar = new Jar();
      const location = await signInWith(google, jar);
      expect(errorOf(location)).toBe("identity_unverified");
      expect(jar.has(SESSION_COOKIE)).toBe(false);
      expect(await identitiesOf(account.id)).toEqual([]);
    });
  });

  test.each([
    ["Apple", () => apple, applePerson],
    ["GitHub", () => github, gitHubPerson],
  ] as const)(
    "an email that %s verified once, but does not host, is linked to no account",
    async (_, provider, personWith) => {
      await withProviders(async () => {
        for (const isVerified of [true, false]) {
          const account = await newAccount();
          if (isVerified) await markVerified(account.id);
          provider().person = personWith(account.email);
          const jar = new Jar();
          expect(errorOf(await signInWith(provider(), jar))).toBe("identity_unverified");
          expect(jar.has(SESSION_COOKIE)).toBe(false);
          expect(await identitiesOf(account.id)).toEqual([]);
          expect((await get("/api/push/devices", { token: account.token })).status).toBe(200);
        }
      });
    },
  );

  test.each(["icloud.com", "privaterelay.appleid.com"])(
    "an email at Apple's own domain %s is linked",
    async (domain) => {
      await withProviders(async () => {
        const account = await newAccount({ email: `person-${randomUUID()}@${domain}` });
        await markVerified(account.id);
        apple.person = applePerson(account.email);
        const jar = new Jar();
        await signInWith(apple, jar);
        expect(await session(jar)).toMatchObject({ user: { id: account.id } });
      });
    },
  );

  test("the same subject of another issuer is another identity, even of the same provider", async () => {
    const enterprise = await IdentityProvider.start("github", BASE_URL);
    try {
      await withProviders(async () => {
        github.person = gitHubPerson(newEmail());
        const jar = new Jar();
        await signInWith(github, jar);
        const [owner, sub] = [await session(jar), github.person.sub];
        await withProviders(async () => {
          enterprise.person = { ...gitHubPerson(newEmail()), sub };
          const other = new Jar();
          await signInWith(enterprise, other);
          expect(await session(other)).not.toMatchObject({ user: { id: owner.user.id } });
        }, enterprise.variables);
        const second = new Jar();
        await signInWith(github, second);
        expect(await session(second)).toMatchObject({ user: { id: owner.user.id } });
      });
    } finally {
      enterprise.close();
    }
  });

  test("GitHub's public email is ignored, and its primary email is used only if verified", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      await markVerified(account.id);
      const { email } = account;
      github.person = { ...gitHubPerson(email), emails: [{ email, primary: true, verified: false }] };
      github.person.claims.email = email;
      expect(errorOf(await signInWith(github, new Jar()))).toBe("identity_without_email");
      expect(await identitiesOf(account.id)).toEqual([]);
    });
  });

  test("an identity without a valid email creates no account", async () => {
    await withProviders(async () => {
      for (const email of [undefined, "x", "a@b@example.com", `${"l".repeat(65)}@example.com`]) {
        google.person = googlePerson(email as string);
        expect(errorOf(await signInWith(google, new Jar()))).toBe("identity_without_email");
      }
    });
  });

  test("a user's name from a provider is shortened, and characters that PostgreSQL cannot store are replaced", async () => {
    await withProviders(async () => {
      const email = newEmail();
      google.person = googlePerson(email, { name: `\0${"𝒜".repeat(100)}\ud800`, picture: "javascript:alert(1)" });
      await signInWith(google, new Jar());
      const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
      expect(account).toMatchObject({ name: `\ufffd${"𝒜".repeat(79)}`, image: null });
    });
  });

  test("a signed-in account can link an identity with any email, and the new session replaces the old one", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      const jar = new Jar();
      await signIn(jar, account);
      const before = jar.header;
      google.person = googlePerson(newEmail());
      await signInWith(google, jar);
      expect(await session(jar)).toMatchObject({ user: { id: account.id } });
      expect((await get("/api/push/devices", { cookie: before })).status).toBe(401);
      const elsewhere = new Jar();
      await signInWith(google, elsewhere);
      expect(await session(elsewhere)).toMatchObject({ user: { id: account.id } });
    });
  });

  test("an identity of another account cannot be linked", async () => {
    await withProviders(async () => {
      google.person = googlePerson(newEmail());
      const owner = new Jar();
      await signInWith(google, owner);
      const account = await newAccount();
      const jar = new Jar();
      await signIn(jar, account);
      expect(errorOf(await signInWith(google, jar))).toBe("identity_in_use");
      expect(await session(jar)).toMatchObject({ user: { id: account.id } });
      expect(await identitiesOf(account.id)).toEqual([]);
    });
  });

  test("linking an identity requires a recent sign-in", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      const jar = new Jar();
      await signIn(jar, account);
      clock.advance(11 * 60 * 1000);
      google.person = googlePerson(newEmail());
      expect(errorOf(await signInWith(google, jar))).toBe("reauthentication_required");
      expect(await identitiesOf(account.id)).toEqual([]);
      await signIn(jar, account);
      expect(await signInWith(google, jar)).toBe(`${BASE_URL}/`);
      expect(await identitiesOf(account.id)).toHaveLength(1);
    });
  });

  test("a session that is revoked during a sign-in at a provider neither links nor creates an account", async () => {
    await withProviders(async () => {
      const account = await newAccount();
      const jar = new Jar();
      await signIn(jar, account);
      const email = newEmail();
      google.person = googlePerson(email);
      const callback = await google.approve(await startProvider(google, jar));
      await ctx().db.session.updateMany({ where: { accountId: account.id }, data: { revokedAt: new Date() } });
      const location = (await followCallback(jar, callback)).headers.get("location") ?? "";
      expect(errorOf(location)).toBe("unauthenticated");
      expect(await identitiesOf(account.id)).toEqual([]);
      expect(await ctx().db.account.count({ where: { email } })).toBe(0);
    });
  });

  test("a sign-in that starts signed out links nothing to an account that signs in to the browser meanwhile", async () => {
    await withProviders(async () => {
      const jar = new Jar();
      const email = newEmail();
      google.person = googlePerson(email);
      const callback = await google.approve(await startProvider(google, jar));
      const other = await newAccount();
      await signIn(jar, other);
      await followCallback(jar, callback);
      expect(await session(jar)).toMatchObject({ user: { email } });
      expect(await identitiesOf(other.id)).toEqual([]);
    });
  });

  test("two concurrent first sign-ins create one account", async () => {
    await withProviders(async () => {
      const email = newEmail();
      google.person = googlePerson(email);
      const jars = [new Jar(), new Jar()];
      const callbacks = await Promise.all(jars.map(async (jar) => google.approve(await startProvider(google, jar))));
      await Promise.all(jars.map((jar, i) => followCallback(jar, callbacks[i] ?? "")));
      for (const jar of jars) expect(await session(jar)).toMatchObject({ user: { email } });
      expect(await ctx().db.identity.count({ where: { subject: google.person.sub } })).toBe(1);
    });
  });
});

describe("a sign-in with a provider is refused", () => {
  /** Follows a callback and expects a refusal. Returns its error code. */
  async function refused(jar: Jar, callback: string): Promise<string | null> {
    const location = (await followCallback(jar, callback)).headers.get("location") ?? "";
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    let page = location;
    while (new URL(page).pathname.startsWith("/api/")) page = (await get(page)).headers.get("location") ?? "";
    expect(page.split("?")[0]).toBe(`${BASE_URL}/sign-in`);
    return errorOf(page);
  }

  const startSignIn = async (jar: Jar) => {
    google.person = googlePerson(newEmail());
    return google.approve(await startProvider(google, jar));
  };

  test("with another browser's state", async () => {
    await withProviders(async () => {
      const [victim, attacker] = [new Jar(), new Jar()];
      await startSignIn(victim);
      expect(await refused(victim, await startSignIn(attacker))).toBe("OAuthCallback");
    });
  });

  test("with another browser's code, which belongs to another verifier", async () => {
    await withProviders(async () => {
      const [victim, attacker] = [new Jar(), new Jar()];
      const own = new URL(await startSignIn(victim));
      own.searchParams.set("code", new URL(await startSignIn(attacker)).searchParams.get("code") ?? "");
      expect(await refused(victim, own.href)).toBe("OAuthCallback");
      expect(google.exchanges.at(-1)).toBe("invalid_grant");
    });
  });

  test("with a used code", async () => {
    await withProviders(async () => {
      const jar = new Jar();
      const callback = await startSignIn(jar);
      const replaying = new Jar();
      for (const pair of jar.header.split("; "))
        replaying.set(pair.split("=")[0] ?? "", pair.slice(pair.indexOf("=") + 1));
      await followCallback(jar, callback);
      expect(jar.has(SESSION_COOKIE)).toBe(true);
      expect(await refused(replaying, callback)).toBe("OAuthCallback");
      expect(google.exchanges.at(-1)).toBe("invalid_grant");
    });
  });

  test.each(["next-auth.state", "next-auth.pkce.code_verifier", "next-auth.nonce"])(
    "without the cookie %s",
    async (name) => {
      await withProviders(async () => {
        const jar = new Jar();
        const callback = await startSignIn(jar);
        jar.delete(name);
        expect(await refused(jar, callback)).toBe("OAuthCallback");
      });
    },
  );

  test.each([
    ["without the nonce", { nonce: undefined }],
    ["with another nonce", { nonce: "another" }],
    ["for another client", { aud: "another" }],
    ["of another issuer", { iss: "https://evil.example" }],
    ["that has expired", { exp: 1_000_000_000 }],
  ])("with an ID token %s", async (_, claims) => {
    await withProviders(async () => {
      google.alterToken = (token) => ({ ...token, ...claims });
      const jar = new Jar();
      expect(await refused(jar, await startSignIn(jar))).toBe("OAuthCallback");
      expect(google.exchanges.at(-1)).toBe("ok");
    });
  });

  test.each([null, 5, "", "x".repeat(256)])("with an ID token whose subject is %j", async (sub) => {
    await withProviders(async () => {
      google.alterToken = (token) => ({ ...token, sub });
      const jar = new Jar();
      const accounts = await ctx().db.account.count();
      await followCallback(jar, await startSignIn(jar));
      expect(google.exchanges.at(-1)).toBe("ok");
      expect(jar.has(SESSION_COOKIE)).toBe(false);
      expect(await ctx().db.account.count()).toBe(accounts);
    });
  });

  test("at another provider's callback URL", async () => {
    await withProviders(async () => {
      const jar = new Jar();
      const callback = (await startSignIn(jar)).replace("callback/google", "callback/github");
      expect(await refused(jar, callback)).toBe("OAuthCallback");
    });
  });

  test.each(["access_denied", "server_error", "<script>"])("with the provider's error %s", async (error) => {
    await withProviders(async () => {
      const jar = new Jar();
      const state = new URL(await startProvider(google, jar)).searchParams.get("state");
      const callback = `${BASE_URL}/api/auth/callback/google?${new URLSearchParams({ error, state: state ?? "" })}`;
      expect(await refused(jar, callback)).toBe("Callback");
    });
  });

  test("with the caller's own text, of which only error codes are logged", async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    await withContext({ log }, () =>
      withProviders(async () => {
        for (const query of ["error=access_denied", "error=forged+words", "state=forged", "code=x&state=forged"]) {
          const jar = new Jar();
          await startProvider(google, jar);
          await refused(jar, `${BASE_URL}/api/auth/callback/google?${query}&error_description=forged&iss=forged`);
        }
      }),
    );
    const reasons = lines.map((line) => (JSON.parse(line) as { reason?: string }).reason);
    expect(reasons).toEqual(expect.arrayContaining(["access_denied", "other", "state mismatch"]));
    expect(lines.join()).not.toContain("forged");
  });

  test("if the provider does not accept the client secret", async () => {
    for (const [provider, secret] of [
      [google, { AUTH_GOOGLE_SECRET: "wrong" }],
      [apple, { AUTH_APPLE_KEY_ID: "OTHER12345" }],
    ] as const) {
      await withProviders(async () => {
        provider.person = googlePerson(newEmail());
        expect(errorOf(await signInWith(provider, new Jar()))).toBe("OAuthCallback");
        expect(provider.exchanges.at(-1)).toBe("invalid_client");
      }, secret);
    }
  });

  test("if the provider is down", async () => {
    const AUTH_GOOGLE_ISSUER = "http://127.0.0.1:1";
    await withProviders(async () => expect(errorOf(await startProvider(google, new Jar()))).toBe("OAuthSignin"), {
      AUTH_GOOGLE_ISSUER,
    });
  });

  test("with 503 if the database is unavailable", async () => {
    await withProviders(async () => {
      const jar = new Jar();
      const callback = await startSignIn(jar);
      const db = new Proxy(ctx().db, {
        get: (target, name) => {
          if (name === "$transaction") throw Object.assign(new Error("Can't reach database server"), { code: "P1001" });
          return Reflect.get(target, name);
        },
      });
      expect((await withContext({ db }, () => followCallback(jar, callback))).status).toBe(503);
      expect(jar.has(SESSION_COOKIE)).toBe(false);
    });
  });
});

describe("the routes", () => {
  test("a provider that is not configured does not exist", async () => {
    expect(Object.keys(await (await get("/api/auth/providers")).json())).toEqual(["credentials"]);
    for (const path of ["signin/google", "callback/google", "callback/apple"]) {
      expect((await get(`/api/auth/${path}`)).status).toBe(404);
    }
    await withProviders(async () => {
      const providers = await (await get("/api/auth/providers")).json();
      expect(Object.keys(providers)).toEqual(["credentials", "google", "apple", "github"]);
    });
  });

  test("Apple's form post is redirected to GET with only the code and the state, and sets no cookie", async () => {
    await withProviders(async () => {
      const fields = { code: "c", state: "s", user: '{"email":"x@example.com"}', callbackUrl: "https://evil.example" };
      const response = await postFromApple(`${BASE_URL}/api/auth/callback/apple?${new URLSearchParams(fields)}`);
      expect(response.status).toBe(303);
      expect(response.headers.get("location")).toBe(`${BASE_URL}/api/auth/callback/apple?code=c&state=s`);
      expect(response.headers.getSetCookie()).toEqual([]);
      const google = await postFromApple(`${BASE_URL}/api/auth/callback/google?${new URLSearchParams(fields)}`);
      expect(google.status).toBe(403);
    });
  });

  test("a ready-made client secret for Apple is used unchanged", async () => {
    const AUTH_APPLE_SECRET = appleClientSecret(loadConfig(apple.variables) as AppleConfig, new Date());
    await withProviders(
      async () => {
        apple.person = applePerson(newEmail());
        expect(await signInWith(apple, new Jar())).toBe(`${BASE_URL}/`);
      },
      { AUTH_APPLE_SECRET },
    );
  });

  test("a caller can choose neither the scope nor the redirect URI", async () => {
    await withProviders(async () => {
      const jar = new Jar();
      const query = "scope=everything&redirect_uri=https://evil.example&client_id=x&login_hint=ann@example.com";
      const response = await postForm(jar, `/api/auth/signin/google?${query}`, { csrfToken: await csrfToken(jar) });
      const { searchParams } = new URL((await response.json()).url);
      expect(Object.fromEntries(searchParams)).toMatchObject({
        scope: "openid email profile",
        redirect_uri: `${BASE_URL}/api/auth/callback/google`,
        client_id: google.variables.AUTH_GOOGLE_ID,
        login_hint: "ann@example.com",
      });
    });
  });

  test.each(["https://evil.example/", "//evil.example", "/\\evil.example", "https://localhost:3000.evil.example"])(
    "the callback URL %s leads to the service's own origin",
    async (callbackUrl) => {
      await withProviders(async () => {
        google.person = googlePerson(newEmail());
        const location = await signInWith(google, new Jar(), callbackUrl);
        expect(new URL(location).origin).toBe(BASE_URL);
      });
    },
  );

  test("a callback URL at a trusted origin is followed", async () => {
    await withProviders(
      async () => {
        google.person = googlePerson(newEmail());
        expect(await signInWith(google, new Jar(), "https://app.example.com/start")).toBe(
          "https://app.example.com/start",
        );
      },
      { AUTH_TRUSTED_ORIGINS: "https://app.example.com" },
    );
  });

  test("sign-ins with a provider are limited by IP address", async () => {
    await withProviders(async () => {
      const ip = "203.0.113.99";
      for (let i = 0; i < 120; i++) await ctx().limits.consume("oauthByIp", ip);
      expect((await call("GET", "/api/auth/callback/google?code=x&state=x", { ip })).status).toBe(429);
    });
  });

  test("successful sign-ins with a provider do not count, because many people share an IP address", async () => {
    await withProviders(async () => {
      const ip = "203.0.113.98";
      const consume = () => ctx().limits.consume("oauthByIp", ip);
      for (let i = 0; i < 118; i++) await consume();
      google.person = googlePerson(newEmail());
      const jar = new Jar();
      const csrf = await csrfToken(jar);
      const started = await call("POST", "/api/auth/signin/google", {
        ip,
        cookie: jar.header,
        body: new URLSearchParams({ csrfToken: csrf, json: "true" }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded", origin: BASE_URL },
      });
      jar.take(started);
      const { pathname, search } = new URL(await google.approve(((await started.json()) as { url: string }).url));
      jar.take(await call("GET", pathname + search, { ip, cookie: jar.header }));
      expect(jar.has(SESSION_COOKIE)).toBe(true);
      await consume();
      await consume();
      await expect(consume()).rejects.toThrow("Too many requests");
    });
  });
});

test("a sign-in that starts on the sign-in page ends on the page that was requested", () =>
  withProviders(async () => {
    const jar = new Jar();
    google.person = googlePerson(newEmail());
    const started = await postForm(jar, "/forms/provider", { provider: "google", callbackUrl: "/download?file=app" });
    const [, providerPage = ""] = started.headers.get("refresh")?.split("url=") ?? [];
    const callback = await google.approve(providerPage);
    expect((await followCallback(jar, callback)).headers.get("location")).toBe(`${BASE_URL}/download?file=app`);
  }));
