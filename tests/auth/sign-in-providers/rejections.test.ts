import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { followCallback, Jar, SESSION_COOKIE, signInWith, startProvider } from "@/tests/support/auth/browser";
import { errorOf, googlePerson, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, ctx, databaseWithoutTransactions, withContext } from "@/tests/support/context";

const { google, apple, withProviders } = await setUpProviders();

const { privateKey: strangerKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const strangerJwk = publicKey.export({ format: "jwk" });
const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");
const withoutExpiry = (claims: string) =>
  encoded({ ...JSON.parse(Buffer.from(claims, "base64url").toString()), exp: 4_000_000_000 });
const signedBy = (key: KeyObject, header: string, claims: string) =>
  `${header}.${claims}.${sign("sha256", Buffer.from(`${header}.${claims}`), key).toString("base64url")}`;

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

  // ASVS 10.1.2, 10.2.1
  test("with another browser's state", async () => {
    const [victim, attacker] = [new Jar(), new Jar()];
    await startSignIn(victim);
    expect(await refused(victim, await startSignIn(attacker))).toBe("OAuthCallback");
  });

  // ASVS 10.1.2, 10.2.1
  test("with another browser's code, which belongs to another verifier", async () => {
    const [victim, attacker] = [new Jar(), new Jar()];
    const own = new URL(await startSignIn(victim));
    own.searchParams.set("code", new URL(await startSignIn(attacker)).searchParams.get("code") ?? "");
    expect(await refused(victim, own.href)).toBe("OAuthCallback");
    expect(google.exchanges.at(-1)).toBe("invalid_grant");
  });

  // ASVS 10.1.2, 10.2.1
  test("with a used code", async () => {
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

  test.each(["next-auth.state", "next-auth.pkce.code_verifier", "next-auth.nonce"])(
    // ASVS 10.1.2, 10.2.1
    "without the cookie %s",
    async (name) => {
      const jar = new Jar();
      const callback = await startSignIn(jar);
      jar.delete(name);
      expect(await refused(jar, callback)).toBe("OAuthCallback");
    },
  );

  test.each([
    ["without the nonce", { nonce: undefined }],
    ["with another nonce", { nonce: "another" }],
    ["for another client", { aud: "another" }],
    ["of another issuer", { iss: "https://evil.example" }],
    ["that has expired", { exp: 1_000_000_000 }],
    // ASVS 6.8.2, 9.1.1, 9.1.2, 9.1.3, 9.2.1, 9.2.2, 9.2.3, 10.5.1, 10.5.2, 10.5.3, 10.5.4
  ])("with an ID token %s", async (_, claims) => {
    google.alterToken = (token) => ({ ...token, ...claims });
    const jar = new Jar();
    expect(await refused(jar, await startSignIn(jar))).toBe("OAuthCallback");
    expect(google.exchanges.at(-1)).toBe("ok");
  });

  test.each<[string, (header: string, claims: string, signature: string) => string]>([
    ["that is not signed", (_, claims) => `${encoded({ alg: "none" })}.${claims}.`],
    ["whose signature is missing", (header, claims) => `${header}.${claims}.`],
    ["whose claims were changed", (header, claims, signature) => `${header}.${withoutExpiry(claims)}.${signature}`],
    ["that another key has signed", (header, claims) => signedBy(strangerKey, header, claims)],
    ["whose key is not in the JWKS", (_, claims) => signedBy(strangerKey, encoded({ alg: "RS256", kid: "2" }), claims)],
    [
      "that brings its own key",
      (_, claims) => signedBy(strangerKey, encoded({ alg: "RS256", jwk: strangerJwk }), claims),
    ],
    [
      "that the client secret has signed",
      (_, claims) => {
        const signed = `${encoded({ alg: "HS256" })}.${claims}`;
        return `${signed}.${createHmac("sha256", "the-secret").update(signed).digest("base64url")}`;
      },
    ],
  ])("with an ID token %s", async (_, forge) => {
    google.alterJwt = (jwt) => forge(...(jwt.split(".") as [string, string, string]));
    const jar = new Jar();
    expect(await refused(jar, await startSignIn(jar))).toBe("OAuthCallback");
    expect(google.exchanges.at(-1)).toBe("ok");
  });

  test.each([null, 5, "", "x".repeat(256)])("with an ID token whose subject is %j", async (sub) => {
    google.alterToken = (token) => ({ ...token, sub });
    const jar = new Jar();
    const accounts = await ctx().db.account.count();
    await followCallback(jar, await startSignIn(jar));
    expect(google.exchanges.at(-1)).toBe("ok");
    expect(jar.has(SESSION_COOKIE)).toBe(false);
    expect(await ctx().db.account.count()).toBe(accounts);
  });

  // ASVS 10.2.2
  test("at another provider's callback URL", async () => {
    const jar = new Jar();
    const callback = (await startSignIn(jar)).replace("callback/google", "callback/github");
    expect(await refused(jar, callback)).toBe("OAuthCallback");
  });

  test.each(["access_denied", "server_error", "<script>"])("with the provider's error %s", async (error) => {
    const jar = new Jar();
    const state = new URL(await startProvider(google, jar)).searchParams.get("state");
    const callback = `${BASE_URL}/api/auth/callback/google?${new URLSearchParams({ error, state: state ?? "" })}`;
    expect(await refused(jar, callback)).toBe("Callback");
  });

  // ASVS 16.4.1
  test("with the caller's own text, of which only error codes are logged", async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    await withContext({ log }, async () => {
      for (const query of ["error=access_denied", "error=forged+words", "state=forged", "code=x&state=forged"]) {
        const jar = new Jar();
        await startProvider(google, jar);
        await refused(jar, `${BASE_URL}/api/auth/callback/google?${query}&error_description=forged&iss=forged`);
      }
    });
    const reasons = lines.map((line) => (JSON.parse(line) as { reason?: string }).reason);
    expect(reasons).toEqual(expect.arrayContaining(["access_denied", "other", "state mismatch"]));
    expect(lines.join()).not.toContain("forged");
  });

  test("if the provider does not accept the client secret", async () => {
    for (const [provider, secret] of [
      [google, { AUTH_GOOGLE_SECRET: "wrong" }],
      [apple, { AUTH_APPLE_KEY_ID: "OTHER12345" }],
    ] as const) {
      await withProviders(secret, async () => {
        provider.person = googlePerson(newEmail());
        expect(errorOf(await signInWith(provider, new Jar()))).toBe("OAuthCallback");
        expect(provider.exchanges.at(-1)).toBe("invalid_client");
      });
    }
  });

  test("if the provider is down", async () => {
    await withProviders({ AUTH_GOOGLE_ISSUER: "http://127.0.0.1:1" }, async () =>
      expect(errorOf(await startProvider(google, new Jar()))).toBe("OAuthSignin"),
    );
  });

  // ASVS 16.5.2, 16.5.3
  test("with 503 if the database is unavailable", async () => {
    const jar = new Jar();
    const callback = await startSignIn(jar);
    const db = databaseWithoutTransactions();
    expect((await withContext({ db }, () => followCallback(jar, callback))).status).toBe(503);
    expect(jar.has(SESSION_COOKIE)).toBe(false);
  });
});
