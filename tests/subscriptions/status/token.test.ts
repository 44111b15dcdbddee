import { generateKeyPairSync, randomUUID } from "node:crypto";
import { calculateJwkThumbprint, createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { examplesOf, runModules } from "@/tests/support/guide";
import { billingEvent, DAY_MS, deliverOk, initialPurchase, type Sent } from "@/tests/support/subscriptions/billing";

const PATH = "/api/subscription/token";
const AUDIENCE = "com.example.core";
const TTL_SECONDS = 7 * 24 * 60 * 60;
const GRACE_SECONDS = 3 * 24 * 60 * 60;

const seconds = (time: string | Date) => Math.floor(new Date(time).getTime() / 1000);

async function tokenOf({ token }: { token: string }, query = `audience=${AUDIENCE}`) {
  const response = await get(`${PATH}?${query}`, { token });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
  return (await response.json()) as { token: string; expiresAt: string };
}

async function keySet(): Promise<JSONWebKeySet> {
  const response = await get("/.well-known/jwks.json");
  expect(response.headers.get("cache-control")).toBe("public, max-age=3600");
  return (await response.json()) as JSONWebKeySet;
}

/** Checks a token as an app does, with the key set that it has stored. */
async function verified(token: string, keys: JSONWebKeySet) {
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
    issuer: BASE_URL,
    audience: AUDIENCE,
    typ: "entitlements+jwt",
    algorithms: ["EdDSA"],
    currentDate: clock.now(),
  });
  return { ...payload, kid: protectedHeader.kid };
}

/** Signs in where the session is over by now. */
async function again({ email, password }: TestAccount): Promise<{ token: string }> {
  return (await (await post("/api/auth/login", { email, password })).json()) as { token: string };
}

test("a token has the active entitlements, with a grace for those that renew", async () => {
  const account = await newAccount();
  const of = (id: string, fields: Record<string, unknown> = {}) =>
    billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, entitlement_ids: [id], product_id: id, ...fields });
  const [renewing, canceled] = [of("pro"), of("cloud")];
  for (const event of [renewing, canceled, of("test", { environment: "SANDBOX" })]) await deliverOk(event);
  await deliverOk({ ...canceled, id: randomUUID(), type: "CANCELLATION", cancel_reason: "UNSUBSCRIBE" });
  await deliverOk({ ...of("tools"), type: "NON_RENEWING_PURCHASE", expiration_at_ms: null });
  await deliverOk(of("old", { expiration_at_ms: clock.now().getTime() - DAY_MS }));
  const { token, expiresAt } = await tokenOf(account);
  const claims = await verified(token, await keySet());
  const endOf = (event: Sent) => seconds(new Date(event.expiration_at_ms as number));
  expect(claims).toEqual({
    iss: BASE_URL,
    sub: account.id,
    aud: AUDIENCE,
    iat: seconds(expiresAt) - TTL_SECONDS,
    exp: seconds(expiresAt),
    kid: expect.any(String),
    entitlements: [
      { id: "cloud", productId: "cloud", expiresAt: endOf(canceled) },
      { id: "pro", productId: "pro", expiresAt: endOf(renewing) + GRACE_SECONDS },
      { id: "tools", productId: "tools", expiresAt: null },
    ],
  });
});

test("sandbox purchases are in the tokens of testers alone, and an account without access has an empty token", async () => {
  const account = await newAccount();
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: account.id, environment: "SANDBOX" }));
  const entitlements = async () => decodeJwt((await tokenOf(account)).token).entitlements;
  expect(await entitlements()).toEqual([]);
  await withContext({ config: { BILLING_SANDBOX_TESTERS: [account.id] } }, async () => {
    expect(await entitlements()).toMatchObject([{ id: "pro" }]);
  });
});

test("a token is bound to the key of a device", async () => {
  const jwk = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const jkt = await calculateJwkThumbprint(jwk as { kty: string });
  const { token } = await tokenOf(await newAccount(), `audience=${AUDIENCE}&jkt=${jkt}`);
  expect(await verified(token, await keySet())).toMatchObject({ cnf: { jkt } });
});

test("a token requires an audience", async () => {
  const { token } = await newAccount();
  const long = "x".repeat(256);
  for (const query of [
    "",
    "audience=",
    "audience=a%20b",
    `audience=${long}`,
    "audience=a&jkt=short",
    "audience=a&audience=b",
  ]) {
    const response = await get(`${PATH}?${query}`, { token });
    expect([query, response.status]).toEqual([query, 400]);
    expect(await response.json()).toMatchObject({ code: "invalid_query" });
  }
});

test("a key is published a day before it signs, and until its last token has expired", async () => {
  const account = await newAccount();
  const first = await tokenOf(account);
  const kidOf = async ({ token }: { token: string }) => (await verified(token, await keySet())).kid;
  const kids = async () => (await keySet()).keys.map(({ kid }) => kid);
  const [firstKid] = await kids();
  expect(await kidOf(first)).toBe(firstKid);

  clock.advance(89 * DAY_MS + 1_000);
  const [, secondKid, ...others] = await kids();
  expect(others).toEqual([]);
  const stored = await keySet(); // an app that stores the keys now needs no others for 90 days
  clock.advance(DAY_MS - 60_000);
  expect(await kidOf(await tokenOf(await again(account)))).toBe(firstKid);
  clock.advance(60_000);
  const second = await tokenOf(await again(account));
  expect((await verified(second.token, stored)).kid).toBe(secondKid);
  expect(await kids()).toEqual([firstKid, secondKid]);

  clock.advance(180 * DAY_MS); // nobody has asked meanwhile
  expect(await kids()).toEqual([secondKid, expect.any(String)]);
});

test("processes that need the first key at the same time use the same one", async () => {
  await ctx().db.signingKey.deleteMany();
  const account = await newAccount();
  const tokens = await Promise.all(Array.from({ length: 5 }, () => tokenOf(account)));
  const keys = await keySet();
  expect(keys.keys).toHaveLength(1);
  for (const { token } of tokens) await verified(token, keys);
});

test("private keys are neither published nor stored in the clear", async () => {
  await tokenOf(await newAccount());
  const { keys } = await keySet();
  for (const key of keys) expect(Object.keys(key).toSorted()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
  const [row] = await ctx().db.signingKey.findMany();
  expect(row?.privateKey).toMatch(/^1\.encryption:[\w-]+\.[\w-]+$/);
});

test("the guide's check takes a token as long as it is valid, also with the clock set back", async () => {
  const account = await newAccount();
  await deliverOk(initialPurchase(account.id));
  const { token } = await tokenOf(account);
  const { keys } = await keySet();
  const { offlineEntitlements } = await runModules(
    { "offline-check.mjs": examplesOf("billing").get("offline-check.mjs") ?? "" },
    {},
  );
  const now = seconds(clock.now());
  const check = (given: Record<string, unknown> = {}) =>
    offlineEntitlements({ token, keys, issuer: BASE_URL, audience: AUDIENCE, lastSeen: now, now, ...given });
  expect(await check()).toEqual(["pro"]);
  expect(await check({ now: now + TTL_SECONDS + 60 })).toBeNull();
  expect(await check({ now: now - 1_000_000, lastSeen: now + TTL_SECONDS + 60 })).toBeNull();
  expect(await check({ now: 0, lastSeen: 0 })).toEqual(["pro"]);
  expect(await check({ audience: "com.example.other" })).toBeNull();
  expect(await check({ keys: [] })).toBeNull();
  const [header, , signature] = token.split(".");
  const forged = Buffer.from(JSON.stringify({ ...decodeJwt(token), exp: 9e9 })).toString("base64url");
  expect(await check({ token: `${header}.${forged}.${signature}` })).toBeNull();
  expect(await check({ token: "nonsense" })).toBeNull();
});
