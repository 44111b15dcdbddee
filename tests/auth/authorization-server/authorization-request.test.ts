import { describe, expect, test } from "vitest";
import {
  AuthorizationParameters,
  authorizationPage,
  buildCodeRedirectUrl,
  checkAuthorizationRequest,
} from "@/lib/auth/authorization-server/authorization-request";

const CLIENT = {
  id: "desktop",
  name: "Desktop",
  redirectUris: [
    "http://127.0.0.1/callback",
    "http://[::1]",
    "http://127.0.0.1:8080/fixed",
    "com.example.app:/done?a=1",
  ],
};
const CONFIG = {
  baseUrl: "https://app.example.com",
  OAUTH_CLIENTS: [{ ...CLIENT, id: "other", redirectUris: [] }, CLIENT],
};
const REQUEST = {
  client_id: "desktop",
  redirect_uri: "http://127.0.0.1:51004/callback",
  response_type: "code",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", // RFC 7636, appendix B
  code_challenge_method: "S256",
  state: "a b&c",
};
const check = (change: Partial<AuthorizationParameters> = {}) =>
  checkAuthorizationRequest(CONFIG, { ...REQUEST, ...change });

test("a request is of its client, with the challenge, the redirect URI and the state as they were given", () => {
  expect(check()).toEqual({
    request: {
      client: CLIENT,
      redirectUri: REQUEST.redirect_uri,
      state: REQUEST.state,
      codeChallenge: REQUEST.code_challenge,
    },
    errorRedirectUrl: null,
  });
});

describe("a redirect URI is the client's", () => {
  test.each([
    "http://127.0.0.1/callback",
    "http://127.0.0.1:1/callback",
    "http://127.0.0.1:65535/callback",
    "http://[::1]:51004",
    "http://127.0.0.1:8080/fixed",
    "com.example.app:/done?a=1",
  ])("%s", (redirect_uri) => expect(check({ redirect_uri }).request).toMatchObject({ redirectUri: redirect_uri }));

  test.each([
    "http://127.0.0.1:65536/callback",
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:080/callback",
    "http://127.0.0.1:123456/callback",
    "http://127.0.0.1:51004/callback/",
    "http://127.0.0.1:51004/callback?x",
    "http://127.0.0.1:51004/other",
    "http://127.0.0.1:51004",
    "http://127.0.0.1:51004@evil.example/callback",
    "http://[::1]:51004/callback",
    "http://localhost:51004/callback",
    "https://127.0.0.1:51004/callback",
    "x http://127.0.0.1:51004/callback",
    "http://127.0.0.1:51004/callback\n",
    "http://127.0.0.1:9090/fixed",
    "com.example.app:/done",
    "com.example.app:/done?a=12",
    "",
  ])("not %j", (redirect_uri) => {
    expect(() => check({ redirect_uri })).toThrow(expect.objectContaining({ code: "invalid_redirect_uri" }));
  });

  test("not of an unknown client, and not another client's", () => {
    expect(() => check({ client_id: "Desktop" })).toThrow(expect.objectContaining({ code: "invalid_client" }));
    expect(() => check({ client_id: "other" })).toThrow(expect.objectContaining({ code: "invalid_redirect_uri" }));
  });
});

test.each<[string, Partial<AuthorizationParameters>, string, string]>([
  ["no response type", { response_type: undefined }, "invalid_request", "response_type is missing"],
  ["a token", { response_type: "token" }, "unsupported_response_type", "response_type must be code"],
  ["no method", { code_challenge_method: undefined }, "invalid_request", "code_challenge_method must be S256"],
  ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request", "code_challenge_method must be S256"],
  ...[
    undefined,
    "",
    "x".repeat(42),
    "x".repeat(44),
    `${"x".repeat(42)}=`,
    `\n${"x".repeat(43)}`,
    `${"x".repeat(43)}\n`,
  ].map((code_challenge): [string, Partial<AuthorizationParameters>, string, string] => [
    `the challenge ${JSON.stringify(code_challenge)}`,
    { code_challenge },
    "invalid_request",
    "code_challenge must be the base64url of a SHA-256",
  ]),
])("a request with %s is refused at its redirect URI", (_, change, error, error_description) => {
  const { request, errorRedirectUrl } = check(change);
  const { origin, pathname, searchParams } = new URL(errorRedirectUrl ?? "");
  expect([request, origin + pathname]).toEqual([null, REQUEST.redirect_uri]);
  expect(Object.fromEntries(searchParams)).toEqual({
    error,
    error_description,
    state: REQUEST.state,
    iss: CONFIG.baseUrl,
  });
});

test("a code is added to the query that the redirect URI has, with the state if there was one", () => {
  const url = (redirectUri: string, state?: string) => buildCodeRedirectUrl(CONFIG, { redirectUri, state }, "c/d");
  const iss = "iss=https%3A%2F%2Fapp.example.com";
  expect(url("http://127.0.0.1/callback", "a b&c")).toBe(`http://127.0.0.1/callback?code=c%2Fd&state=a+b%26c&${iss}`);
  expect(url("com.example.app:/done?a=1")).toBe(`com.example.app:/done?a=1&code=c%2Fd&${iss}`);
});

test("the parameters are texts of a limited length", () => {
  expect(AuthorizationParameters.parse({ ...REQUEST, other: "x" })).toEqual(REQUEST);
  const isValid = (change: object) => AuthorizationParameters.safeParse({ ...REQUEST, ...change }).success;
  expect([64, 65].map((length) => isValid({ client_id: "x".repeat(length) }))).toEqual([true, false]);
  expect([2048, 2049].map((length) => isValid({ redirect_uri: "x".repeat(length) }))).toEqual([true, false]);
  expect([1024, 1025].map((length) => isValid({ state: "x".repeat(length) }))).toEqual([true, false]);
});

test("the page that asks has the request's parameters", () => {
  expect(authorizationPage({ client_id: "desktop", state: "a b" })).toBe("/authorize?client_id=desktop&state=a+b");
});
