import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { exchange, newNonce, setUpIssuers } from "@/tests/support/auth/native-app";
import { clock, ctx, withContext } from "@/tests/support/context";

const { apple, google } = await setUpIssuers();
const foreign = generateKeyPairSync("rsa", { modulusLength: 2048 });

type OAuthError = { error: string; error_description: string; error_uri: string };

const person = () => ({ email: `${randomUUID()}@privaterelay.appleid.com`, email_verified: true });
const seconds = () => Math.floor(clock.now().getTime() / 1000);

/** Expects that the token is refused as RFC 8693, section 2.2.2, has it. Returns the reason. */
async function reasonOf(response: Response): Promise<string> {
  const { error, error_description, error_uri } = (await response.json()) as OAuthError;
  expect([response.status, error]).toEqual([400, "invalid_request"]);
  expect(error_uri).toMatch(/\/docs\/errors#invalid_id_token$/);
  return error_description;
}

async function refused(change: Record<string, unknown>, signing?: Parameters<typeof apple.token>[2]): Promise<string> {
  const nonce = newNonce();
  const accounts = await ctx().db.account.count();
  const reason = await reasonOf(await exchange(apple.token(nonce, { ...person(), ...change }, signing), nonce));
  expect(await ctx().db.account.count()).toBe(accounts);
  return reason;
}

describe("an ID token is refused", () => {
  test.each([
    ["another app's", { aud: "com.example.other" }, "The audience is not configured"],
    [
      "one that is also for another app",
      { aud: ["com.example.acme", "com.example.other"] },
      "The audience is not configured",
    ],
    ["one with an empty list of audiences", { aud: [] }, "The audience is not configured"],
    ["another issuer's", { iss: "https://evil.example" }, "The issuer is not configured for native apps"],
    ["one without a nonce", { nonce: undefined }, "The token has no nonce"],
    ["one with another nonce", { nonce: "x" }, "The nonce does not match"],
    ["one with an expiry that is text", { exp: "never" }, "The token has expired"],
    ["one without a subject", { sub: undefined }, "The claim sub is not valid"],
    ["one with a subject of 300 characters", { sub: "x".repeat(300) }, "The subject is not valid"],
    ["one without a time of issue", { iat: undefined }, "The token was not issued in the last ten minutes"],
  ])("%s", async (_, change, reason) => {
    expect(await refused(change)).toBe(reason);
  });

  test("that has expired, was issued in the future, or more than ten minutes ago", async () => {
    const now = seconds();
    expect(await refused({ exp: now - 61 })).toBe("The token has expired");
    expect(await refused({ iat: now + 120 })).toBe("The token was not issued in the last ten minutes");
    expect(await refused({ iat: now - 700 })).toBe("The token was not issued in the last ten minutes");
  });

  test("with algorithm none, or without a signature", async () => {
    const unsigned = { header: { alg: "none" }, sign: () => Buffer.alloc(0) };
    expect(await refused({}, unsigned)).toBe("The signature is not valid");
    expect(await refused({}, { sign: () => Buffer.alloc(0) })).toBe("The signature is not valid");
  });

  test("that is authenticated with the public key as the secret of HS256", async () => {
    const mac = (text: string) => createHmac("sha256", apple.publicKeyPem).update(text).digest();
    expect(await refused({}, { header: { alg: "HS256" }, sign: mac })).toBe("The signature is not valid");
  });

  test("that another key signed, under a published key's id or its own", async () => {
    const signed = (text: string) => sign("sha256", Buffer.from(text), foreign.privateKey);
    expect(await refused({}, { sign: signed })).toBe("The signature is not valid");
    expect(await refused({}, { header: { kid: "mine" }, sign: signed })).toBe("The provider has no such key");
    const jwk = foreign.publicKey.export({ format: "jwk" });
    const own = { kid: "mine", jwk, jku: "https://evil.example/keys", x5u: "https://evil.example/cert" };
    expect(await refused({}, { header: own, sign: signed })).toBe("The provider has no such key");
  });

  test("of Google that claims to be of Apple, and the other way round", async () => {
    const nonce = newNonce();
    const token = google.token(nonce, { ...person(), iss: apple.origin });
    expect(await reasonOf(await exchange(token, nonce))).toBe("The provider has no such key");
  });

  test("of Apple with the nonce as it is: Apple's tokens have its hash", async () => {
    const nonce = newNonce();
    const token = apple.token(nonce, { ...person(), nonce });
    expect(await reasonOf(await exchange(token, nonce))).toBe("The nonce does not match");
  });

  test("of a provider without a configured app", async () => {
    const reason = await withContext({ config: { AUTH_APPLE_NATIVE_IDS: [] } }, () => refused({}));
    expect(reason).toBe("The issuer is not configured for native apps");
  });

  test.each([["text"], ["a.b"], ["a.b.c"], [`${"x".repeat(7_000)}.y.z`], ["e30.e30."], ["bnVsbA.bnVsbA.bnVsbA"]])(
    "that is no JWT: %.20s",
    async (text) => {
      const reasons = ["The token is not a JWT", "The issuer is not configured for native apps"];
      expect(reasons).toContain(await reasonOf(await exchange(text, newNonce())));
    },
  );
});

describe("a request is refused", () => {
  test.each([
    ["without a token", { subject_token: "" }],
    ["without a token type", { subject_token_type: "" }],
    ["with an access token of the provider", { subject_token_type: "urn:ietf:params:oauth:token-type:access_token" }],
    ["that asks for a refresh token", { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }],
    ["without a nonce", { nonce: "" }],
    ["with a nonce that can be guessed", { nonce: "1234" }],
    ["with a name of 500 characters", { name: "x".repeat(500) }],
    ["with a token of 10,000 characters", { subject_token: "x".repeat(10_000) }],
  ])("%s", async (_, change) => {
    const nonce = newNonce();
    const response = await exchange(apple.token(nonce, person()), nonce, change);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_request" });
  });

  test("of an unknown app", async () => {
    const nonce = newNonce();
    const response = await exchange(apple.token(nonce, person()), nonce, { client_id: "unknown" });
    expect(await response.json()).toMatchObject({ error: "invalid_client" });
  });

  test("with a token of 100,000 characters", async () => {
    expect((await exchange("x".repeat(100_000), newNonce())).status).toBe(413);
  });
});

describe("an ID token works once", () => {
  test("and a replay is refused, also with its signature encoded in another way", async () => {
    const nonce = newNonce();
    const token = apple.token(nonce, person());
    expect((await exchange(token, nonce)).status).toBe(200);
    expect(await reasonOf(await exchange(token, nonce))).toBe("The token was used before");
    // 256 bytes end in a character with four unused bits, which decoders ignore.
    const last = token.slice(-1);
    const other = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
    const variant = other[other.indexOf(last) ^ 1] ?? "";
    expect(await reasonOf(await exchange(token.slice(0, -1) + variant, nonce))).toBe("The token was used before");
    expect(await reasonOf(await exchange(`${token}=`, nonce))).toMatch(/used before|not a JWT|signature/);
  });

  test("of twenty concurrent requests with it, one succeeds", async () => {
    const nonce = newNonce();
    const token = apple.token(nonce, person());
    const responses = await Promise.all(Array.from({ length: 20 }, () => exchange(token, nonce)));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)]);
  });

  test("also on an instance whose clock is behind the one that removes expired rows", async () => {
    const nonce = newNonce();
    const token = apple.token(nonce, { ...person(), exp: seconds() + 300 });
    expect((await exchange(token, nonce)).status).toBe(200);
    clock.advance(361_000);
    await removeExpiredRows(ctx());
    clock.advance(-5_000);
    expect(await reasonOf(await exchange(token, nonce))).toBe("The token was used before");
  });

  test("and is remembered until a day after it has expired, as a hash alone", async () => {
    const nonce = newNonce();
    const token = apple.token(nonce, { ...person(), exp: seconds() + 86_400 });
    const others = (await ctx().db.usedIdToken.findMany()).map(({ hash }) => hash);
    const used = () => ctx().db.usedIdToken.findMany({ where: { hash: { notIn: others } } });
    await exchange(token, nonce);
    expect(JSON.stringify(await used())).not.toContain(token.slice(0, 40));
    clock.advance(2 * 86_000_000);
    await removeExpiredRows(ctx());
    expect(await used()).toHaveLength(1);
    clock.advance(1_000_000);
    await removeExpiredRows(ctx());
    expect(await used()).toEqual([]);
  });
});

test("a clock that is 40 seconds off does no harm", async () => {
  for (const offset of [-40, 40]) {
    const nonce = newNonce();
    const iat = seconds() + offset;
    expect((await exchange(apple.token(nonce, { ...person(), iat, exp: iat + 600 }), nonce)).status).toBe(200);
  }
});

test("one network may send 60 invalid tokens in 15 minutes", async () => {
  const attempt = () => exchange("invalid", newNonce(), {}, { ip: "10.78.0.1" });
  for (let i = 0; i < 60; i += 1) expect((await attempt()).status).toBe(400);
  expect((await attempt()).status).toBe(429);
});
