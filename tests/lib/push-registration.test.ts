import { expect, test } from "vitest";
import { revokeSession } from "@/lib/auth/sessions";
import { registerDevice } from "@/lib/push/registration";
import { newAccount } from "../support/accounts";
import { ctx } from "../support/context";
import { newToken } from "../support/push";

test("a session that ends while it registers a device leaves none behind", async () => {
  const account = await newAccount();
  await revokeSession(ctx(), account.sessionId);
  const owner = { account: { id: account.id }, session: { id: account.sessionId } };
  const given = { token: newToken(), environment: "production" as const, device: {} };
  const origin = { address: "unknown", client: null };
  await expect(registerDevice(ctx(), owner, given, origin)).rejects.toMatchObject({ code: "unauthenticated" });
  expect(await ctx().db.pushDevice.count({ where: { accountId: account.id } })).toBe(0);
});
