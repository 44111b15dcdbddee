import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { decodeProtectedHeader } from "jose";
import { encode } from "next-auth/jwt";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { issueResetToken } from "@/lib/accounts/password-reset";
import { newestVerificationToken } from "@/lib/auth/email-verification";
import { isRecognizedDevice } from "@/lib/auth/recognized-clients";
import { decodeToken, encodeToken } from "@/lib/auth/sessions/sessions";
import { dataKey, loadDataKeys } from "@/lib/platform/keys/data-keys";
import { secretId } from "@/lib/platform/keys/key-ring";
import { decryptSecret, encryptSecret } from "@/lib/platform/keys/stored-secrets";
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
import { openTestDatabase, postgresUrl } from "@/tests/support/database";

const { google } = await setUpProviders();

const isValid = async (token: string) => (await get("/api/push/devices", { token })).status === 200;

const claimsOf = ({ id, sessionId }: { id: string; sessionId: string }) => ({ sub: id, sid: sessionId, epoch: 0 });

afterEach(restoreKeys);

// An embedded database has the clock of its only process.
test.runIf(postgresUrl)(
  "the oldest key stays in use, although a process with a wrong clock has created another",
  async () => {
    const oldest = await dataKey(ctx(), "encryption");
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2000-01-01") });
    onTestFinished(() => void vi.useRealTimers());
    await withSecrets([NEW_SECRET], () => loadDataKeys(ctx()));
    await withSecrets([NEW_SECRET, SECRET], async () => {
      expect(await ctx().db.dataKey.count({ where: { purpose: "encryption" } })).toBe(2);
      expect(await dataKey(ctx(), "encryption")).toEqual(oldest);
    });
  },
);

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
    google.person = googlePerson(newEmail());
    const jar = new Jar();
    const callback = await google.approve(await startProvider(google, jar));
    const response = await withSecrets([NEW_SECRET, SECRET], () => followCallback(jar, callback));
    expect(response.headers.get("location")).toBe(`${BASE_URL}/`);
    expect(jar.has(SESSION_COOKIE)).toBe(true);
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
      expect((await post("/api/auth/reset/confirm", { token, password: "another good password" })).status).toBe(200);
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

  test("the verification of an email whose secret is gone: the link that is sent again works", async () => {
    await withContext({ config: { AUTH_REQUIRE_VERIFIED_EMAIL: true } }, async () => {
      const email = newEmail();
      await register(email);
      const first = await emailedToken(email);
      await withSecrets([NEW_SECRET], async () => {
        const again = await newestVerificationToken(ctx(), email);
        expect(again).not.toBe(first);
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

const OTHER = "a-secret-that-never-was-in-the-list-before";

test.each(["", "JBSWY3DPEHPK3PXP", "ä€😀".repeat(5_000)])("a secret is what it was: %#", async (secret) => {
  const stored = await encryptSecret(ctx(), "totp:ann", secret);
  expect(secret === "" || !stored.includes(secret)).toBe(true);
  expect(await decryptSecret(ctx(), "totp:ann", stored)).toBe(secret);
  expect(await encryptSecret(ctx(), "totp:ann", secret)).not.toBe(stored);
});

// ASVS 11.2.1, 13.3.1, 13.3.2
test("it is decrypted for its own purpose alone, and not if it was changed", async () => {
  const stored = await encryptSecret(ctx(), "totp:ann", "a secret");
  await expect(decryptSecret(ctx(), "totp:bob", stored)).rejects.toThrow();
  const [format, key, sealed = ""] = stored.split(".");
  const bytes = Buffer.from(sealed, "base64url");
  for (const at of [0, 12, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(
      decryptSecret(ctx(), "totp:ann", [format, key, changed.toString("base64url")].join(".")),
    ).rejects.toThrow();
  }
  for (const text of ["", ".", "a secret", `${format}.${key}.`, `2.${key}.${sealed}`, `1.unknown.${sealed}`]) {
    await expect(decryptSecret(ctx(), "totp:ann", text)).rejects.toThrow();
  }
});

test("it outlives a rotation: with both secrets before the keys are re-wrapped, with the new one after it", async () => {
  const stored = await encryptSecret(ctx(), "totp:ann", "a secret");
  const decrypted = () => decryptSecret(ctx(), "totp:ann", stored);
  expect(await withSecrets([NEW_SECRET, SECRET], decrypted)).toBe("a secret");
  expect(await rotateKeys([NEW_SECRET, SECRET])).toMatchObject({ rewrapped: expect.any(Number), missingSecretIds: [] });
  expect(await rotateKeys([NEW_SECRET, SECRET])).toMatchObject({ rewrapped: 0, missingSecretIds: [] });
  expect(await withSecrets([NEW_SECRET], decrypted)).toBe("a secret");
  const written = await withSecrets([NEW_SECRET], () => encryptSecret(ctx(), "totp:bob", "another secret"));
  expect(await decryptSecret(ctx(), "totp:bob", written)).toBe("another secret"); // as an instance that still runs
});

test("a rotation is in the audit trail, and one that changes nothing is not", async () => {
  const where = { type: "data_keys_rewrapped", actor: "operator:ann" };
  const before = await ctx().db.auditEvent.count({ where });
  await rotateKeys([NEW_SECRET, SECRET]);
  await rotateKeys([NEW_SECRET, SECRET]);
  const events = await ctx().db.auditEvent.findMany({ where, orderBy: { id: "desc" } });
  expect(events).toHaveLength(before + 1);
  const details = { rewrapped: expect.any(Number), secretId: secretId(NEW_SECRET) };
  expect(events[0]).toMatchObject({ target: "data_keys", accountId: null, details });
});

test("without the secret that protects it, it is unavailable, and re-wrapping names the secret and changes nothing", async () => {
  const stored = await encryptSecret(ctx(), "totp:ann", "a secret");
  await withSecrets([OTHER], async () => {
    await expect(decryptSecret(ctx(), "totp:ann", stored)).rejects.toMatchObject({ code: "unavailable" });
    expect((await loadDataKeys(ctx())).missingSecretIds).toHaveLength(1); // logged at the start
    const own = await encryptSecret(ctx(), "totp:bob", "another secret");
    expect(await decryptSecret(ctx(), "totp:bob", own)).toBe("another secret");
  });
  const { missingSecretIds } = await rotateKeys([OTHER]);
  expect(missingSecretIds).toHaveLength(1);
  expect(await decryptSecret(ctx(), "totp:ann", stored)).toBe("a secret");
});

test("processes that start at the same time on an empty database create the same keys", async () => {
  const database = await openTestDatabase(await mkdtemp(path.join(tmpdir(), "homeport-keys-")));
  onTestFinished(() => database.close());
  const started = await Promise.all(
    Array.from({ length: 4 }, () => {
      const config = { ...ctx().config, secrets: [SECRET] as const };
      const db = new Proxy(database.client, {}); // what one process has read, another one has not
      return loadDataKeys({ config, db });
    }),
  );
  expect(started[0]?.keys.map(({ purpose }) => purpose).sort()).toEqual(["encryption", "pseudonyms", "vapid"]);
  for (const keys of started) expect(keys).toEqual(started[0]);
});

test("a row that somebody moved to another id is refused", async () => {
  const id = `encryption:${randomUUID()}`;
  const [row] = await ctx().db.dataKey.findMany({ where: { purpose: "pseudonyms" } });
  await ctx().db.dataKey.create({
    data: {
      id,
      purpose: "encryption",
      wrappedBy: row?.wrappedBy ?? "",
      wrapped: row?.wrapped ?? "",
      createdAt: new Date(0),
    },
  });
  await withSecrets([SECRET, randomBytes(32).toString("hex")], async () => {
    await expect(encryptSecret(ctx(), "totp:ann", "a secret")).rejects.toThrow();
  });
});
