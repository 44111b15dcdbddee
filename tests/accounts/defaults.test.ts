import { expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";

// ASVS 6.3.2, 8.2.3, 15.3.1, 15.3.3
test("an account that registers has no role beyond a user's, whatever it sends", async () => {
  const email = `plain-${crypto.randomUUID()}@example.com`;
  const given = { email, password: "a good long password", role: "admin", emailVerified: true, disabledAt: null };
  expect((await post("/api/auth/register", given)).status).toBe(201);
  const account = await ctx().db.account.findUniqueOrThrow({ where: { email } });
  expect(account).toMatchObject({ role: "user", emailVerifiedAt: null });
  expect((await newAccount()).id).not.toBe(account.id);
});
