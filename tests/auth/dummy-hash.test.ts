import { randomInt, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Context } from "@/lib/context";
import { call, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";

const ARGON2 = `{raw}$argon2id$v=19$m=1024,t=2,p=1$${"s".repeat(22)}$${"h".repeat(43)}`;
/** The accounts with a hash of our own, at the configured cost and at another one, and those with an imported hash. */
const ACCOUNTS = [
  { kind: "$2b$04$", hash: `$2b$04$${"x".repeat(53)}`, count: 2_000 },
  { kind: "$2b$05$", hash: `$2b$05$${"x".repeat(53)}`, count: 1_000 },
  { kind: "{raw}$argon2id$v=19$m=1024,t=2,p=1$", hash: ARGON2, count: 1_000 },
];
const EMAILS = 200;

const newEmails = (count: number) => Array.from({ length: count }, () => `person-${randomUUID()}@example.com`);

/** The kind of the hash that a sign-in with a wrong password compares: one alone. */
async function kindFor(email: string): Promise<string | undefined> {
  const compared: string[] = [];
  const compare = async (_: string, hash: string) => {
    compared.push(hash);
    return false;
  };
  const ip = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
  const signIn = () => post("/api/auth/login", { email, password: "a wrong one" }, { ip });
  const { status } = await withContext({ hasher: { ...ctx().hasher, compare } }, signIn);
  expect([status, compared.length]).toEqual([401, 1]);
  return ACCOUNTS.find(({ kind }) => compared[0]?.startsWith(kind))?.kind;
}

/** One after the other: each replaces a part of the context, and restores it. */
async function kindsFor(emails: string[]) {
  const kinds = [];
  for (const email of emails) kinds.push(await kindFor(email));
  return kinds;
}

async function addAccounts(count: number, passwordHash: string | null): Promise<string[]> {
  const emails = newEmails(count);
  await ctx().db.account.createMany({ data: emails.map((email) => ({ email, passwordHash })) });
  return emails;
}

async function importAccounts(count: number, hash: string): Promise<void> {
  const password = { format: "argon2", hash: hash.replace("{raw}", "") };
  const records = newEmails(count).map((email) => JSON.stringify({ email, password }));
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const response = await call("POST", "/api/admin/accounts/import", { body: records.join("\n"), token: key });
  expect(response.status).toBe(200);
}

/** A service that has not counted the hashes yet: the other files of this process may have, within a minute. */
const asNewService = (run: () => Promise<void>) => withContext({ db: ctx().db.$extends({}) as Context["db"] }, run);

test("emails without a password are compared with the hashes of others, in proportion, and always with one kind", () =>
  asNewService(async () => {
    const [own, lower, imported] = ACCOUNTS as [(typeof ACCOUNTS)[0], (typeof ACCOUNTS)[0], (typeof ACCOUNTS)[0]];
    for (const { count, hash } of [own, lower]) await addAccounts(count, hash);
    await kindFor("first@example.com");
    await importAccounts(imported.count, imported.hash);
    for (const emails of [newEmails(EMAILS), await addAccounts(EMAILS, null)]) {
      const kinds = await kindsFor(emails);
      for (const { kind, count } of ACCOUNTS) {
        const expected = (count / 4_000) * EMAILS;
        const found = kinds.filter((one) => one === kind).length;
        expect(Math.abs(found - expected), `${found} of ${kind}`).toBeLessThan(5 * Math.sqrt(expected));
      }
      expect(await kindsFor(emails.slice(0, 20))).toEqual(kinds.slice(0, 20));
    }
  }));

test("an account's own hash is compared, and nothing else", async () => {
  for (const { kind, hash } of ACCOUNTS) {
    const [email = ""] = await addAccounts(1, hash);
    expect(await kindFor(email)).toBe(kind);
  }
});
