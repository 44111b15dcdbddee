import { expect, test } from "vitest";
import { appleClientSecret } from "@/lib/auth/sign-in-providers/apple-request";
import { loadConfig } from "@/lib/platform/config";
import { call, get } from "@/tests/support/api";
import { csrfToken, Jar, postForm, postFromApple, SESSION_COOKIE, signInWith } from "@/tests/support/auth/browser";
import { applePerson, googlePerson, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, ctx, useUp, withContext } from "@/tests/support/context";

type AppleConfig = Parameters<typeof appleClientSecret>[0];

const { google, apple, withProviders } = await setUpProviders();

test("a provider that is not configured does not exist", async () => {
  const listed = async () => Object.keys(await (await get("/api/auth/providers")).json());
  expect(await listed()).toEqual(["credentials", "google", "apple", "github"]);
  await withContext({ config: { AUTH_GOOGLE_ID: undefined, AUTH_APPLE_ID: undefined } }, async () => {
    expect(await listed()).toEqual(["credentials", "github"]);
    for (const path of ["signin/google", "callback/google", "callback/apple"]) {
      expect((await get(`/api/auth/${path}`)).status).toBe(404);
    }
  });
});

test("Apple's form post is redirected to GET with only the code and the state, and sets no cookie", async () => {
  const fields = { code: "c", state: "s", user: '{"email":"x@example.com"}', callbackUrl: "https://evil.example" };
  const response = await postFromApple(`${BASE_URL}/api/auth/callback/apple?${new URLSearchParams(fields)}`);
  expect(response.status).toBe(303);
  expect(response.headers.get("location")).toBe(`${BASE_URL}/api/auth/callback/apple?code=c&state=s`);
  expect(response.headers.getSetCookie()).toEqual([]);
  const google = await postFromApple(`${BASE_URL}/api/auth/callback/google?${new URLSearchParams(fields)}`);
  expect(google.status).toBe(403);
});

test("a ready-made client secret for Apple is used unchanged", async () => {
  const AUTH_APPLE_SECRET = appleClientSecret(loadConfig(apple.variables) as AppleConfig, new Date());
  await withProviders({ AUTH_APPLE_SECRET }, async () => {
    apple.person = applePerson(newEmail());
    expect(await signInWith(apple, new Jar())).toBe(`${BASE_URL}/`);
  });
});

// ASVS 10.2.3
test("a caller can choose neither the scope nor the redirect URI", async () => {
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

test.each(["https://evil.example/", "//evil.example", "/\\evil.example", "https://localhost:3000.evil.example"])(
  // ASVS 3.7.2
  "the callback URL %s leads to the service's own origin",
  async (callbackUrl) => {
    google.person = googlePerson(newEmail());
    const location = await signInWith(google, new Jar(), callbackUrl);
    expect(new URL(location).origin).toBe(BASE_URL);
  },
);

test("a callback URL at a trusted origin is followed", async () => {
  await withProviders({ AUTH_TRUSTED_ORIGINS: "https://app.example.com" }, async () => {
    google.person = googlePerson(newEmail());
    const page = "https://app.example.com/start";
    expect(await signInWith(google, new Jar(), page)).toBe(page);
  });
});

test("sign-ins with a provider are limited by IP address", async () => {
  const ip = "203.0.113.99";
  await useUp("oauthByIp", ip, 120);
  expect((await call("GET", "/api/auth/callback/google?code=x&state=x", { ip })).status).toBe(429);
});

test("successful sign-ins with a provider do not count, because many people share an IP address", async () => {
  const ip = "203.0.113.98";
  const consume = () => ctx().limits.consume("oauthByIp", ip);
  await useUp("oauthByIp", ip, 118);
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
