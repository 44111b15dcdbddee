import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx, emptyTables } from "@/tests/support/context";

// ASVS 6.3.2
test("a new database has no account, and none of the usual names signs in", async () => {
  await emptyTables();
  expect(await ctx().db.account.count()).toBe(0);
  for (const name of ["admin", "administrator", "root", "sa", "guest", "test", "homeport", "postgres"]) {
    for (const email of [name, `${name}@localhost`, `${name}@example.com`]) {
      for (const password of [name, "password", "changeme"]) {
        const { status } = await post("/api/auth/login", { email, password });
        expect([email, [401, 422].includes(status)]).toEqual([email, true]);
      }
    }
  }
});

// ASVS 6.3.2, 8.2.3, 15.3.1, 15.3.3
test("an account that registers has no role beyond a user's, whatever it sends", async () => {
  const email = `plain-${crypto.randomUUID()}@example.com`;
  const given = { email, password: "a good long password", role: "admin", emailVerified: true, disabledAt: null };
  expect((await post("/api/auth/register", given)).status).toBe(201);
  const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(account).toMatchObject({ role: "user", emailVerifiedAt: null });
  expect((await newAccount()).id).not.toBe(account.id);
});
