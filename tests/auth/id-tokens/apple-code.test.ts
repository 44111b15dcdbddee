import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { readAppleToken } from "@/lib/auth/sign-in-providers/apple-tokens";
import { APP_ID, exchange, newNonce, setUpIssuers } from "@/tests/support/auth/native-app";
import { identitiesOf } from "@/tests/support/auth/providers";
import { ctx } from "@/tests/support/context";

const { apple, google, withIssuers } = await setUpIssuers();
const withKey = <T>(run: () => Promise<T>) => withIssuers(run, apple.teamVariables);

/** Signs in with an authorization code. Returns Apple's refresh token that is stored for the account. */
async function storedToken(code: string, issuer = apple, sub: string = randomUUID()) {
  const [nonce, email] = [newNonce(), `${randomUUID()}@privaterelay.appleid.com`];
  const token = issuer.token(nonce, { sub, email, email_verified: true });
  expect((await exchange(token, nonce, { authorization_code: code })).status).toBe(200);
  const [identity] = await identitiesOf(
    (await ctx().db.identity.findFirstOrThrow({ where: { subject: sub } })).accountId,
  );
  const { id = "", refreshToken = null } = identity ?? {};
  return refreshToken && readAppleToken(ctx(), id, refreshToken);
}

test("the authorization code of an app is exchanged for Apple's refresh token, which is stored with the app's id", async () => {
  await withKey(async () => {
    apple.codes.set("code-1", "r.1");
    expect(await storedToken("code-1")).toEqual({ clientId: APP_ID, refreshToken: "r.1" });
    expect([...apple.codes.keys()]).not.toContain("code-1");
    const rows = await ctx().db.identity.findMany();
    expect(JSON.stringify(rows)).not.toContain("r.1");
  });
});

test("a later sign-in replaces the token, and one without a code keeps it", async () => {
  await withKey(async () => {
    const sub = randomUUID();
    apple.codes.set("code-2", "r.2").set("code-3", "r.3");
    await storedToken("code-2", apple, sub);
    expect(await storedToken("code-3", apple, sub)).toMatchObject({ refreshToken: "r.3" });
    expect(await storedToken("", apple, sub)).toMatchObject({ refreshToken: "r.3" });
  });
});

test("a code that Apple refuses does not stop the sign-in", async () => {
  await withKey(async () => {
    expect(await storedToken("unknown")).toBeNull();
  });
});

test("a code of another person is not stored: a deletion would end that person's access", async () => {
  await withKey(async () => {
    const [nonce, sub] = [newNonce(), randomUUID()];
    const token = apple.token(nonce, { sub, email: `${randomUUID()}@icloud.com`, email_verified: true });
    apple.codes.set("code-4", "r.4");
    apple.codeSubject = "another person";
    expect((await exchange(token, nonce, { authorization_code: "code-4" })).status).toBe(200);
    expect([...apple.codes.keys()]).not.toContain("code-4");
    const identity = await ctx().db.identity.findFirstOrThrow({ where: { subject: sub } });
    expect(identity.refreshToken).toBeNull();
  });
});

test("a code of Google, or without a key of the team, is sent to nobody", async () => {
  const requests = () => [...apple.requests, ...google.requests].filter((path) => path === "/token").length;
  const before = requests();
  await withKey(async () => expect(await storedToken("code", google)).toBeNull());
  await withIssuers(async () => expect(await storedToken("code")).toBeNull());
  await withIssuers(async () => expect(await storedToken("code")).toBeNull(), {
    AUTH_APPLE_SECRET: "a.jwt.of-the-web",
  });
  expect(requests()).toBe(before);
});
