import * as client from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { call, get, type Options, post } from "@/tests/support/api";
import {
  decide,
  errorOf,
  locationOf,
  openApp,
  postOAuth,
  REDIRECT_URI,
  signInToBrowser,
} from "@/tests/support/auth/oauth-client";
import { BASE_URL, clock, ctx } from "@/tests/support/context";
import { submit } from "@/tests/support/web/forms";

const VERIFIER = "a-code-verifier-of-forty-three-characters-or-more";
let account: TestAccount;
let cookie: string;
let challenge: string;

beforeAll(async () => {
  account = await newAccount();
  cookie = await signInToBrowser(account);
  challenge = await client.calculatePKCECodeChallenge(VERIFIER);
});

/** An authorization URL, with parameters changed or removed. */
function authorizationUrl(change: Record<string, string | undefined> = {}): URL {
  const parameters = {
    client_id: "desktop",
    redirect_uri: REDIRECT_URI,
    response_type: "code",
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "a state",
    ...change,
  };
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URL(`/api/auth/oauth/authorize?${new URLSearchParams(given)}`, BASE_URL);
}

/** A code that the account has just allowed. */
async function newCode(): Promise<string> {
  return (await decide(authorizationUrl(), { cookie })).searchParams.get("code") ?? "";
}

const exchange = (code: string, change: Record<string, string> = {}, options: Options = {}) => {
  const request = { grant_type: "authorization_code", client_id: "desktop", redirect_uri: REDIRECT_URI };
  return postOAuth("token", { ...request, code_verifier: VERIFIER, code, ...change }, options);
};

const accessTokenOf = async (response: Response) => ((await response.json()) as { access_token: string }).access_token;
const statusOf = async (token: string) => (await get("/api/subscription/status", { token })).status;

// ASVS 10.4.9, 10.7.3
test("openid-client signs an app in with a code, PKCE and state, and revokes its token", async () => {
  const app = await openApp("desktop");
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(app, {
    redirect_uri: REDIRECT_URI,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
  });
  const callback = await decide(url, { cookie });
  expect(callback.href).toMatch(/^http:\/\/127\.0\.0\.1:51004\/callback\?code=[\w-]{43}&state=/);
  const tokens = await client.authorizationCodeGrant(app, callback, {
    pkceCodeVerifier: verifier,
    expectedState: state,
  });
  expect(tokens.token_type).toBe("bearer");
  expect(tokens.expires_in).toBeGreaterThan(89 * 24 * 60 * 60);
  expect(await statusOf(tokens.access_token)).toBe(200);
  const session = await ctx().db.session.findFirst({ where: { accountId: account.id, deviceName: "Acme Desktop" } });
  expect(session).toMatchObject({ transport: "token", revokedAt: null });

  await client.tokenRevocation(app, tokens.access_token);
  expect(await statusOf(tokens.access_token)).toBe(401);
  await client.tokenRevocation(app, tokens.access_token); // twice is not an error (RFC 7009, section 2.2)
});

test("the metadata names the issuer of every link", async () => {
  const response = await get("/.well-known/oauth-authorization-server");
  expect(response.headers.get("cache-control")).toBe("public, max-age=3600");
  expect(await response.json()).toMatchObject({
    issuer: BASE_URL,
    authorization_endpoint: `${BASE_URL}/api/auth/oauth/authorize`,
    code_challenge_methods_supported: ["S256"],
  });
});

// ASVS 10.7.1, 10.7.2
test("a user who refuses sends the app access_denied", async () => {
  const { searchParams } = await decide(authorizationUrl(), { cookie, decision: "deny" });
  expect(Object.fromEntries(searchParams)).toMatchObject({ error: "access_denied", state: "a state", iss: BASE_URL });
});

// ASVS 2.3.1
test("a browser that is not signed in signs in first, and returns to the request", async () => {
  const fields = { ...Object.fromEntries(authorizationUrl().searchParams), decision: "allow" };
  const { pathname, searchParams } = locationOf(await submit("authorize", fields));
  expect(pathname).toBe("/sign-in");
  const next = new URL(searchParams.get("callbackUrl") ?? "", BASE_URL);
  expect(next.pathname).toBe("/authorize");
  expect(Object.fromEntries(next.searchParams)).toEqual(Object.fromEntries(authorizationUrl().searchParams));
});

// ASVS 7.6.1, 7.6.2
test("another site cannot allow an app", async () => {
  const fields = { ...Object.fromEntries(authorizationUrl().searchParams), decision: "allow" };
  const response = await submit("authorize", fields, { cookie, headers: { origin: "https://evil.example" } });
  expect(response.status).toBe(403);
});

test.each([
  "http://127.0.0.1:1/callback",
  "http://127.0.0.1:65535/callback",
  "http://127.0.0.1/callback",
  "http://[::1]:51004/callback",
  "com.example.acme:/callback",
  "https://app.example.com/callback?from=acme",
  // ASVS 10.4.1, 10.4.12
])("a redirect URI that is registered gets the code: %s", async (uri) => {
  const { href } = await decide(authorizationUrl({ redirect_uri: uri }), { cookie });
  expect(href.startsWith(`${uri}${uri.includes("?") ? "&" : "?"}code=`)).toBe(true);
});

describe("a request is not redirected", () => {
  test.each([
    ["a suffix", "http://127.0.0.1:51004/callback/more"],
    ["a query", "http://127.0.0.1:51004/callback?x=1"],
    ["a fragment", "http://127.0.0.1:51004/callback#x"],
    ["credentials", "http://127.0.0.1:51004@evil.example/callback"],
    ["a second @", "http://a@127.0.0.1:51004@evil.example/callback"],
    ["a port out of range", "http://127.0.0.1:65536/callback"],
    ["an empty port", "http://127.0.0.1:/callback"],
    ["another host", "http://127.0.0.2:51004/callback"],
    ["a name of the loopback", "http://localhost:51004/callback"],
    ["https on the loopback", "https://127.0.0.1:51004/callback"],
    ["a port where none is free", "https://app.example.com:8443/callback?from=acme"],
    ["another scheme", "com.example.evil:/callback"],
    ["a path that is normalized", "http://127.0.0.1:51004/x/../callback"],
    ["a script", "javascript:alert(1)"],
    ["a length of 3,000", `http://127.0.0.1:51004/${"x".repeat(3_000)}`],
    // ASVS 3.7.2, 10.4.1
  ])("to a URI with %s", async (_, uri) => {
    const { pathname, search } = authorizationUrl({ redirect_uri: uri });
    const response = await get(pathname + search, { cookie });
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    const fields = { ...Object.fromEntries(authorizationUrl({ redirect_uri: uri }).searchParams), decision: "allow" };
    expect(locationOf(await submit("authorize", fields, { cookie })).origin).toBe(BASE_URL);
  });

  test("for an unknown client, or without one", async () => {
    for (const change of [{ client_id: "unknown" }, { client_id: undefined }, { redirect_uri: undefined }]) {
      const { pathname, search } = authorizationUrl(change);
      expect((await get(pathname + search)).status).toBe(400);
    }
  });

  // ASVS 15.3.7
  test("with a parameter twice", async () => {
    const { pathname, search } = authorizationUrl();
    expect((await get(`${pathname}${search}&state=other`)).status).toBe(400);
  });
});

// ASVS 10.4.4, 10.4.6
describe("the app gets an error in the redirect", () => {
  test.each([
    ["if PKCE is missing", { code_challenge: undefined }, "invalid_request"],
    ["for a plain challenge", { code_challenge_method: "plain" }, "invalid_request"],
    ["if the method is missing", { code_challenge_method: undefined }, "invalid_request"],
    ["if the challenge is too short", { code_challenge: "x" }, "invalid_request"],
    ["if the response type is missing", { response_type: undefined }, "invalid_request"],
    ["for the implicit grant", { response_type: "token" }, "unsupported_response_type"],
  ])("%s", async (_, change, error) => {
    const { origin, searchParams } = await decide(authorizationUrl(change), { cookie });
    expect(origin).toBe("http://127.0.0.1:51004");
    expect(Object.fromEntries(searchParams)).toMatchObject({ error, state: "a state", iss: BASE_URL });
  });
});

describe("a code", () => {
  // ASVS 10.4.2, 10.4.3
  test("that is presented twice ends the session that it created", async () => {
    const code = await newCode();
    const token = await accessTokenOf(await exchange(code));
    expect(await statusOf(token)).toBe(200);
    expect(await errorOf(await exchange(code))).toEqual([400, "invalid_grant"]);
    expect(await statusOf(token)).toBe(401);
  });

  // ASVS 10.4.2, 10.4.3, 15.4.2
  test("that is presented twice at once leaves no session", async () => {
    const code = await newCode();
    const responses = await Promise.all([1, 2, 3, 4].map(() => exchange(code)));
    const tokens = await Promise.all(responses.filter(({ ok }) => ok).map(accessTokenOf));
    expect(tokens.length).toBeLessThanOrEqual(1);
    for (const token of tokens) expect(await statusOf(token)).toBe(401);
  });

  test.each([
    ["another verifier", { code_verifier: "another-code-verifier-of-forty-three-characters" }],
    ["another redirect URI", { redirect_uri: "http://127.0.0.1:51005/callback" }],
    // ASVS 2.2.3
  ])("is used up by %s", async (_, change) => {
    const code = await newCode();
    expect(await errorOf(await exchange(code, change))).toEqual([400, "invalid_grant"]);
    expect(await errorOf(await exchange(code))).toEqual([400, "invalid_grant"]);
  });

  test("of one client is unknown to another, and still works for its own", async () => {
    const code = await newCode();
    expect(await errorOf(await exchange(code, { client_id: "other" }))).toEqual([400, "invalid_grant"]);
    expect((await exchange(code)).status).toBe(200);
  });

  // ASVS 10.4.2, 10.4.3
  test("lives 60 seconds", async () => {
    const codes = [await newCode(), await newCode()] as const;
    clock.advance(59_000);
    expect((await exchange(codes[0])).status).toBe(200);
    clock.advance(2_000);
    expect(await errorOf(await exchange(codes[1]))).toEqual([400, "invalid_grant"]);
  });

  test("is worth nothing after the session that allowed it was signed out from another", async () => {
    const owner = await newAccount();
    const [stolen, own] = [await signInToBrowser(owner), await signInToBrowser(owner)];
    const code = (await decide(authorizationUrl(), { cookie: stolen })).searchParams.get("code") ?? "";
    await submit("account/other-sessions", {}, { cookie: own });
    expect(await errorOf(await exchange(code))).toEqual([400, "invalid_grant"]);
  });

  test("is stored as a hash alone", async () => {
    const code = await newCode();
    const rows = await ctx().db.authorizationCode.findMany();
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(code);
  });
});

// ASVS 10.4.4, 10.4.6
describe("the token endpoint refuses", () => {
  test.each([
    ["an unknown client", { client_id: "unknown" }, "invalid_client"],
    ["a password grant", { grant_type: "password" }, "unsupported_grant_type"],
    ["a request without a grant type", { grant_type: "" }, "invalid_request"],
    ["a request without a verifier", { code_verifier: "" }, "invalid_request"],
    ["a verifier that RFC 7636 does not allow", { code_verifier: "short" }, "invalid_request"],
    ["an unknown code", { code: "unknown" }, "invalid_grant"],
    ["a code with NUL", { code: "\0" }, "invalid_request"],
  ])("%s", async (_, change, error) => {
    const response = await exchange("unknown", change);
    expect(response.headers.get("cache-control")).toMatch("no-store");
    expect(await errorOf(response)).toEqual([400, error]);
  });

  test.each([
    ["token", "grant_type=authorization_code&client_id=desktop&code=a&code=b"],
    ["device", "client_id=desktop&client_id=cli"],
    ["revoke", "client_id=cli&token=a&token=b"],
  ])("a parameter twice, and so does %s", async (endpoint, body) => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await call("POST", `/api/auth/oauth/${endpoint}`, { body, headers });
    expect(await errorOf(response)).toEqual([400, "invalid_request"]);
  });

  test("JSON", async () => {
    expect((await post("/api/auth/oauth/token", { grant_type: "authorization_code" })).status).toBe(415);
  });

  test("to let one network guess codes", async () => {
    const guess = () => exchange("guess", {}, { ip: "10.77.0.1" });
    for (let i = 0; i < 60; i += 1) expect((await guess()).status).toBe(400);
    const response = await guess();
    expect(response.status).toBe(429);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

test("revocation leaves cookie sessions and foreign tokens alone", async () => {
  const [, cookieToken = ""] = /session-token=([^;]+)/.exec(cookie) ?? [];
  expect((await postOAuth("revoke", { client_id: "desktop", token: cookieToken })).status).toBe(200);
  expect((await get("/api/subscription/status", { cookie })).status).toBe(200);
  expect((await postOAuth("revoke", { client_id: "desktop", token: "nonsense" })).status).toBe(200);
});

test("revocation needs a registered client", async () => {
  expect(await errorOf(await postOAuth("revoke", { client_id: "unknown", token: "x" }))).toEqual([
    400,
    "invalid_client",
  ]);
});
