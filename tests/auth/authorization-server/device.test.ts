import * as client from "openid-client";
import { beforeAll, describe, expect, test } from "vitest";
import { revokeAccountSession } from "@/lib/accounts/admin/change-account";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { errorOf, openApp, postOAuth, signInToBrowser } from "@/tests/support/auth/oauth-client";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

const DEVICE_CODE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
let account: TestAccount;
let cookie: string;

beforeAll(async () => {
  account = await newAccount();
  cookie = await signInToBrowser(account);
});

type Codes = { device_code: string; user_code: string; verification_uri_complete: string; interval: number };

const start = async (): Promise<Codes> => (await (await postOAuth("device", { client_id: "cli" })).json()) as Codes;
const poll = ({ device_code }: Codes, change: Record<string, string> = {}) =>
  postOAuth("token", { grant_type: DEVICE_CODE_GRANT, client_id: "cli", device_code, ...change });
const decide = (user_code: string, decision = "allow", as = cookie) =>
  submit("device", { user_code, decision }, { cookie: as });

// ASVS 6.5.4
test("openid-client signs in a command line whose user types the code", async () => {
  const app = await openApp("cli");
  const started = await client.initiateDeviceAuthorization(app, {});
  expect(started).toMatchObject({ verification_uri: `${BASE_URL}/device`, expires_in: 600, interval: 5 });
  expect(started.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect(new URL(started.verification_uri_complete ?? "").searchParams.get("user_code")).toBe(started.user_code);
  const response = await decide(` ${started.user_code.replace("-", "").toLowerCase()} `);
  expect(response.headers.get("location")).toBe("/device?done=allowed");
  const tokens = await client.pollDeviceAuthorizationGrant(app, { ...started, interval: 0 });
  expect((await get("/api/subscription/status", { token: tokens.access_token })).status).toBe(200);
  const session = await ctx().db.session.findFirst({ where: { accountId: account.id, deviceName: "Acme CLI" } });
  expect(session).toMatchObject({ transport: "token" });
});

describe("a device that polls", () => {
  // ASVS 2.3.1
  test("waits until the user decides, and gets an error after a refusal", async () => {
    const codes = await start();
    expect(await errorOf(await poll(codes))).toEqual([400, "authorization_pending"]);
    expect((await decide(codes.user_code, "deny")).headers.get("location")).toBe("/device?done=denied");
    expect(await errorOf(await poll(codes))).toEqual([400, "access_denied"]);
  });

  test("too fast has to wait five seconds longer each time", async () => {
    const codes = await start();
    await poll(codes);
    expect(await errorOf(await poll(codes))).toEqual([400, "slow_down"]);
    clock.advance(6_000); // the interval is 10 s now
    expect(await errorOf(await poll(codes))).toEqual([400, "slow_down"]);
    clock.advance(16_000);
    expect(await errorOf(await poll(codes))).toEqual([400, "authorization_pending"]);
  });

  test("at once from several connections gets one session", async () => {
    const codes = await start();
    await decide(codes.user_code);
    const responses = await Promise.all([1, 2, 3, 4].map(() => poll(codes)));
    expect(responses.filter(({ ok }) => ok)).toHaveLength(1);
  });

  test("with a used code gets nothing more", async () => {
    const codes = await start();
    await decide(codes.user_code);
    expect((await poll(codes)).status).toBe(200);
    clock.advance(6_000);
    expect(await errorOf(await poll(codes))).toEqual([400, "invalid_grant"]);
  });

  // ASVS 6.5.5
  test("learns that its code has expired", async () => {
    const codes = await start();
    clock.advance(601_000);
    expect(await errorOf(await poll(codes))).toEqual([400, "expired_token"]);
    const refused = await decide(codes.user_code);
    expect(flashOf(refused)?.message).toMatch(/no longer valid/);
  });

  test.each([
    ["another client's code", { client_id: "desktop" }],
    ["an unknown code", { device_code: "unknown" }],
    // ASVS 6.6.2
  ])("with %s gets invalid_grant", async (_, change) => {
    expect(await errorOf(await poll(await start(), change))).toEqual([400, "invalid_grant"]);
  });
});

describe("a user code", () => {
  // ASVS 6.6.2
  test("can be decided once", async () => {
    const codes = await start();
    const other = await signInToBrowser(await newAccount());
    await decide(codes.user_code);
    expect(flashOf(await decide(codes.user_code, "deny", other))?.message).toMatch(/no longer valid/);
    expect((await poll(codes)).status).toBe(200);
  });

  type Allowed = { owner: TestAccount; stolen: string; id: string };
  test.each<[how: string, end: (allowed: Allowed) => Promise<unknown>]>([
    ["signs itself out", ({ stolen }) => submit("sign-out", {}, { cookie: stolen })],
    [
      "is signed out from another",
      async ({ owner }) => submit("account/other-sessions", {}, { cookie: await signInToBrowser(owner) }),
    ],
    [
      "is ended on the account page",
      async ({ owner, id }) => submit("account/session", { id }, { cookie: await signInToBrowser(owner) }),
    ],
    [
      "is ended by an operator",
      ({ owner, id }) => revokeAccountSession(ctx(), OPERATOR, { accountId: owner.id, sessionId: id }),
    ],
    ["expires", ({ id }) => ctx().db.session.update({ where: { id }, data: { expiresAt: ctx().now() } })],
    [
      "ends with all of its account",
      ({ owner: { id } }) => ctx().db.account.update({ where: { id }, data: { sessionEpoch: { increment: 1 } } }),
    ],
  ])("is worth nothing after the session that allowed it %s", async (_, end) => {
    const owner = await newAccount();
    const stolen = await signInToBrowser(owner);
    const { id } = await ctx().db.session.findFirstOrThrow({ where: { accountId: owner.id, transport: "cookie" } });
    const codes = await start();
    await decide(codes.user_code, "allow", stolen);
    await end({ owner, stolen, id });
    expect(await errorOf(await poll(codes))).toEqual([400, "invalid_grant"]);
  });

  test("that is exchanged at that moment leaves no session", async () => {
    for (let round = 0; round < 2; round += 1) {
      const owner = await newAccount();
      const [stolen, own] = [await signInToBrowser(owner), await signInToBrowser(owner)];
      const codes = await start();
      await decide(codes.user_code, "allow", stolen);
      const [polled] = await Promise.all([poll(codes), submit("account/other-sessions", {}, { cookie: own })]);
      const { access_token: token } = (await polled.json()) as { access_token?: string };
      if (token) expect((await get("/api/subscription/status", { token })).status).toBe(401);
      expect(await ctx().db.session.count({ where: { accountId: owner.id, revokedAt: null } })).toBe(1);
    }
  });

  // ASVS 6.6.3
  test("cannot be guessed: after ten wrong ones in a quarter of an hour not even the right one is found", async () => {
    const guesser = await signInToBrowser(await newAccount());
    for (let i = 0; i < 10; i += 1) {
      expect(flashOf(await decide("BBBB-BBBB", "allow", guesser))?.message).toMatch(/no longer valid/);
    }
    const { user_code } = await start();
    expect(flashOf(await decide("BBBB-BBBB", "allow", guesser))?.message).toMatch(/Too many requests/);
    expect(flashOf(await decide(user_code, "allow", guesser))?.message).toMatch(/Too many requests/);
    clock.advance(16 * 60 * 1000);
    const later = await start();
    expect((await decide(later.user_code, "allow", guesser)).headers.get("location")).toBe("/device?done=allowed");
  });

  test("that is right does not count, however often it is entered", async () => {
    const owner = await signInToBrowser(await newAccount());
    for (let i = 0; i < 12; i += 1) {
      const { user_code } = await start();
      expect((await decide(user_code, "deny", owner)).headers.get("location")).toBe("/device?done=denied");
    }
  });

  test("needs a signed-in user, and is asked for again after the sign-in", async () => {
    const { user_code } = await start();
    const response = await submit("device", { user_code, decision: "allow" });
    expect(response.headers.get("location")).toMatch(/^\/sign-in\?callbackUrl=%2Fdevice%3Fuser_code%3D/);
  });

  // ASVS 14.2.7
  test("and its device code are stored as hashes alone, and removed a day after they expire", async () => {
    const codes = await start();
    const rows = JSON.stringify(await ctx().db.deviceCode.findMany());
    expect(rows).not.toContain(codes.user_code);
    expect(rows).not.toContain(codes.device_code);
    clock.advance(25 * 60 * 60 * 1000);
    await removeExpiredRows(ctx());
    expect(await ctx().db.deviceCode.count()).toBe(0);
  });
});

// ASVS 10.4.4
test("an app with redirect URIs cannot use device codes, unless it is configured to", async () => {
  expect(await errorOf(await postOAuth("device", { client_id: "desktop" }))).toEqual([400, "unauthorized_client"]);
  const [desktop] = ctx().config.OAUTH_CLIENTS.filter(({ id }) => id === "desktop");
  const OAUTH_CLIENTS = [{ ...desktop, id: "desktop", name: "Acme", redirectUris: [], deviceGrant: true }];
  await withContext({ config: { OAUTH_CLIENTS } }, async () => {
    expect((await postOAuth("device", { client_id: "desktop" })).status).toBe(200);
  });
});

test("a network can start 60 requests an hour", async () => {
  const from = { ip: "10.77.0.2" };
  for (let i = 0; i < 60; i += 1) expect((await postOAuth("device", { client_id: "cli" }, from)).status).toBe(200);
  expect((await postOAuth("device", { client_id: "cli" }, from)).status).toBe(429);
});
