import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { loadDataKeys } from "@/lib/platform/keys/data-keys";
import { decryptSecret, encryptSecret } from "@/lib/platform/keys/stored-secrets";
import { NEW_SECRET, restoreKeys, rotateKeys, withSecrets } from "@/tests/support/auth/rotation";
import { ctx, SECRET } from "@/tests/support/context";
import { openTestDatabase } from "@/tests/support/database";

const OTHER = "a-secret-that-never-was-in-the-list-before";

afterEach(restoreKeys);

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
