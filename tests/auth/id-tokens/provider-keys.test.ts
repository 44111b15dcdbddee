import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { APP_ID, exchange, newNonce } from "@/tests/support/auth/native-app";
import { TokenIssuer } from "@/tests/support/auth/token-issuer";
import { clock, withContext } from "@/tests/support/context";

const HOUR_MS = 60 * 60 * 1000;
const ONE_LOAD = ["/.well-known/openid-configuration", "/keys"];

/** Runs with an issuer of which the service has no keys yet. */
async function withIssuer(run: (issuer: TokenIssuer) => Promise<void>): Promise<void> {
  const issuer = await TokenIssuer.start("apple");
  onTestFinished(() => issuer.close());
  const config = { AUTH_APPLE_ISSUER: issuer.origin, AUTH_APPLE_NATIVE_IDS: [APP_ID] };
  await withContext({ config }, () => run(issuer));
}

const person = () => ({ email: `${randomUUID()}@privaterelay.appleid.com`, email_verified: true });

function enter(issuer: TokenIssuer, header: object = {}): Promise<Response> {
  const nonce = newNonce();
  return exchange(issuer.token(nonce, person(), { header }), nonce);
}

test("concurrent sign-ins share one request for the keys, and later ones need none", async () => {
  await withIssuer(async (issuer) => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => enter(issuer)));
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(issuer.requests).toEqual(ONE_LOAD);
    await enter(issuer);
    expect(issuer.requests).toEqual(ONE_LOAD);
  });
});

test("a provider's new key is fetched when a token names it", async () => {
  await withIssuer(async (issuer) => {
    await enter(issuer);
    clock.advance(20_000);
    issuer.rotateKey();
    const responses = await Promise.all(Array.from({ length: 5 }, () => enter(issuer)));
    expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(issuer.requests).toEqual([...ONE_LOAD, ...ONE_LOAD]);
  });
});

test("a key that is not published any more is refused an hour later", async () => {
  await withIssuer(async (issuer) => {
    await enter(issuer);
    clock.advance(2 * HOUR_MS);
    const nonce = newNonce();
    const withOldKey = issuer.token(nonce, person());
    issuer.rotateKey();
    expect((await exchange(withOldKey, nonce)).status).toBe(400);
  });
});

test("tokens with invented keys cause one request in ten seconds", async () => {
  await withIssuer(async (issuer) => {
    await enter(issuer);
    clock.advance(20_000);
    const responses = await Promise.all(Array.from({ length: 20 }, () => enter(issuer, { kid: randomUUID() })));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(400));
    for (let i = 0; i < 5; i += 1) await enter(issuer, { kid: randomUUID() });
    expect(issuer.requests).toEqual([...ONE_LOAD, ...ONE_LOAD]);
  });
});

test("while the provider is down, a sign-in is 503 with Retry-After, and the same token works later", async () => {
  await withIssuer(async (issuer) => {
    issuer.mode = "down";
    const nonce = newNonce();
    const token = issuer.token(nonce, person());
    for (let i = 0; i < 3; i += 1) {
      const response = await exchange(token, nonce);
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toBe("10");
      expect(await response.json()).toMatchObject({
        error: "temporarily_unavailable",
        error_uri: expect.stringMatching(/#provider_unavailable$/),
      });
    }
    expect(issuer.requests).toHaveLength(1);
    issuer.mode = "up";
    clock.advance(10_000);
    expect((await exchange(token, nonce)).status).toBe(200);
  });
});

test("known keys are used for a day while the provider is down", async () => {
  await withIssuer(async (issuer) => {
    await enter(issuer);
    issuer.mode = "down";
    clock.advance(23 * HOUR_MS);
    expect((await enter(issuer)).status).toBe(200);
    expect((await enter(issuer, { kid: "new" })).status).toBe(503);
    clock.advance(2 * HOUR_MS);
    expect((await enter(issuer)).status).toBe(503);
  });
});

test("a provider whose metadata names another issuer is not trusted", async () => {
  await withIssuer(async (issuer) => {
    const other = await TokenIssuer.start("apple");
    onTestFinished(() => other.close());
    issuer.metadata = {
      issuer: other.origin,
      jwks_uri: `${other.origin}/keys`,
      token_endpoint: `${other.origin}/token`,
    };
    expect((await enter(issuer)).status).toBe(503);
  });
});

test.each([
  ["no JSON", "<html>"],
  ["no key set", "{}"],
  ["a key set of a wrong form", '{"keys":[1]}'],
])("a provider that returns %s is down", async (_, keys) => {
  await withIssuer(async (issuer) => {
    issuer.keysBody = keys;
    expect((await enter(issuer)).status).toBe(503);
  });
});
