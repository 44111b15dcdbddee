import { createHmac } from "node:crypto";
import { decodeProtectedHeader } from "jose";
import { encode } from "next-auth/jwt";
import { afterEach, describe, expect, test } from "vitest";
import { issueResetToken } from "@/lib/accounts/password-reset-token";
import { newestVerificationToken } from "@/lib/auth/email-verification";
import { isRecognizedDevice } from "@/lib/auth/recognized-clients";
import { decodeToken, encodeToken } from "@/lib/auth/sessions/sessions";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import {
  csrfToken,
  followCallback,
  Jar,
  postForm,
  SESSION_COOKIE,
  session,
  signIn,
  startProvider,
} from "@/tests/support/auth/browser";
import { googlePerson, setUpProviders } from "@/tests/support/auth/providers";
import { NEW_SECRET, restoreKeys, rotateKeys, withSecrets } from "@/tests/support/auth/rotation";
import { confirm, emailedToken, newEmail, PASSWORD, register } from "@/tests/support/auth/verification";
import { BASE_URL, ctx, SECRET, withContext } from "@/tests/support/context";

const { google, withProviders } = await setUpProviders();

const isValid = async (token: string) => (await get("/api/push/devices", { token })).status === 200;
const claimsOf = ({ id, sessionId }: { id: string; sessionId: string }) => ({ sub: id, sid: sessionId, epoch: 0 });

afterEach(restoreKeys);

describe("a rotation signs nobody out", () => {
  // ASVS 11.2.2
  test("bearer tokens and cookies stay valid while their secret is in the list, and no longer", async () => {
    const account = await newAccount();
    const jar = new Jar();
    await signIn(jar, account);
    await withSecrets([NEW_SECRET, SECRET], async () => {
      expect(await isValid(account.token)).toBe(true);
      expect(await session(jar)).toMatchObject({ user: { email: account.email } });
    });
    await withSecrets([NEW_SECRET], async () => {
      expect(await isValid(account.token)).toBe(false);
      expect(await session(jar)).toEqual({});
    });
  });

  test("tokens of version 1.0, which name no key, stay valid too", async () => {
    const account = await newAccount();
    const token = await encode({ token: claimsOf(account), secret: SECRET });
    expect(decodeProtectedHeader(token)).not.toHaveProperty("kid");
    await withSecrets([NEW_SECRET, SECRET], async () => expect(await isValid(token)).toBe(true));
  });

  test("new tokens name the new key, and instances that have it only as the second secret accept them", async () => {
    const { email, password } = await newAccount();
    const before = (await (await post("/api/auth/login", { email, password })).json()) as { token: string };
    const after = await withSecrets([NEW_SECRET, SECRET], async () => {
      return (await (await post("/api/auth/login", { email, password })).json()) as { token: string };
    });
    const kidOf = ({ token }: { token: string }) => decodeProtectedHeader(token).kid;
    expect(kidOf(before)).toMatch(/^[\w-]{8}$/);
    expect(kidOf(after)).not.toBe(kidOf(before));
    await withSecrets([SECRET, NEW_SECRET], async () => expect(await isValid(after.token)).toBe(true));
    expect(await isValid(after.token)).toBe(false);
  });

  test("a token that names a key of the list and was encrypted with another is refused", async () => {
    const claims = claimsOf(await newAccount());
    const [head] = (await encodeToken(claims, [NEW_SECRET], 60)).split(".");
    const [, ...rest] = (await encodeToken(claims, [SECRET], 60)).split(".");
    expect(await decodeToken([head, ...rest].join("."), [NEW_SECRET, SECRET])).toBeNull();
    expect(await decodeToken("", [NEW_SECRET, SECRET])).toBeNull();
  });
});

describe("what is under way during a rotation succeeds", () => {
  test("a sign-in at a provider", async () => {
    await withProviders(async () => {
      google.person = googlePerson(newEmail());
      const jar = new Jar();
      const callback = await google.approve(await startProvider(google, jar));
      const response = await withSecrets([NEW_SECRET, SECRET], () => followCallback(jar, callback));
      expect(response.headers.get("location")).toBe(`${BASE_URL}/`);
      expect(jar.has(SESSION_COOKIE)).toBe(true);
    });
  });

  test("a provider's identity that waits for its email to be verified", async () => {
    await withProviders(async () => {
      await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
        const email = newEmail();
        google.person = { ...googlePerson(email), claims: { email, email_verified: false } };
        const jar = new Jar();
        await followCallback(jar, await google.approve(await startProvider(google, jar)));
        const token = await emailedToken(email);
        await withSecrets([NEW_SECRET, SECRET], () => confirm(token, { password: null, jar }));
        expect(jar.has(SESSION_COOKIE)).toBe(true);
      });
    });
  });

  test("a sign-in form that was open", async () => {
    const { email, password } = await newAccount();
    const jar = new Jar();
    const token = await csrfToken(jar);
    await withSecrets([NEW_SECRET, SECRET], async () => {
      await postForm(jar, "/api/auth/callback/credentials", { email, password, csrfToken: token });
      expect(await session(jar)).toMatchObject({ user: { email } });
    });
  });

  test("a password reset: the emailed link works, and another request sends the same one", async () => {
    const { email } = await newAccount();
    const token = await issueResetToken(ctx(), email);
    await withSecrets([NEW_SECRET, SECRET], async () => {
      expect(await issueResetToken(ctx(), email)).toBe(token);
      const response = await post("/api/auth/reset/confirm", { token, password: "another good password" });
      expect(response.status).toBe(200);
    });
  });

  test("a password reset whose secret is gone: another request sends a link that works", async () => {
    const { email } = await newAccount();
    const token = await issueResetToken(ctx(), email);
    await withSecrets([NEW_SECRET], async () => {
      const renewed = await issueResetToken(ctx(), email);
      expect(renewed).not.toBe(token);
      const response = await post("/api/auth/reset/confirm", { token: renewed, password: "another good password" });
      expect(response.status).toBe(200);
    });
  });

  test.each([
    ["in the list", [NEW_SECRET, SECRET] as const],
    ["gone", [NEW_SECRET] as const],
  ])("the verification of an email whose secret is %s: the link that is sent again works", async (_, secrets) => {
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
      const email = newEmail();
      await register(email);
      const first = await emailedToken(email);
      await withSecrets(secrets, async () => {
        const again = await newestVerificationToken(ctx(), email);
        expect(again === first).toBe(secrets.length === 2);
        const jar = new Jar();
        await confirm(again ?? "", { password: PASSWORD, jar });
        expect(await session(jar)).toMatchObject({ user: { email } });
      });
    });
  });
});

describe("what is found by a hash is found after a rotation", () => {
  test("failures, limits and recognized devices, with the replaced secret in the list and without it", async () => {
    const { email } = await newAccount();
    const caller = { ip: "192.0.2.7", userAgent: null, deviceId: "A".repeat(22) };
    await ctx().db.recognizedClient.create({
      data: {
        key: await ctx().limits.pseudonymOf(`device ${caller.deviceId} ${email}`),
        account: { connect: { email } },
        expiresAt: new Date(Date.now() + 60_000),
      },
    });
    const used = async () => {
      for (let used = 0; ; used += 1) {
        try {
          await ctx().limits.consume("verificationMailAtLeast", email);
        } catch {
          return used;
        }
      }
    };
    expect(await used()).toBe(1);
    await rotateKeys([NEW_SECRET, SECRET]);
    for (const secrets of [[NEW_SECRET, SECRET] as const, [NEW_SECRET] as const]) {
      await withSecrets(secrets, async () => {
        expect(await used()).toBe(0);
        expect(await isRecognizedDevice(ctx(), email, caller)).toBe(true);
      });
    }
  });

  test("the hashes are those of version 1.0, which are keyed by the secret itself", async () => {
    const hash = createHmac("sha256", SECRET).update("ann@example.com").digest("base64url");
    expect(await ctx().limits.pseudonymOf("ann@example.com")).toBe(hash);
    await withSecrets([NEW_SECRET, SECRET], async () => {
      expect(await ctx().limits.pseudonymOf("ann@example.com")).toBe(hash);
    });
  });

  test("a secret that is replaced instead of added lets people sign in, and forgets the hashes", async () => {
    const { email, password } = await newAccount();
    await withSecrets([`${NEW_SECRET} alone`], async () => {
      expect((await post("/api/auth/login", { email, password })).status).toBe(200);
    });
  });
});
