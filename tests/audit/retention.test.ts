import { expect, test } from "vitest";
import { removeOldAuditEvents } from "@/lib/platform/audit/retention";
import { newAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";

const DAY_MS = 24 * 60 * 60 * 1000;

// ASVS 14.2.7
test("events of the audit trail are removed after a year, in any number, and no sooner", async () => {
  const { id, email, password } = await newAccount();
  const at = ctx().now();
  await ctx().db.auditEvent.createMany({
    data: Array.from({ length: 2_500 }, () => ({ accountId: id, type: "sign_in_failed", at })),
  });
  const count = () => ctx().db.auditEvent.count({ where: { accountId: id } });
  clock.advance(365 * DAY_MS - 60_000);
  await post("/api/auth/login", { email, password });
  await removeOldAuditEvents(ctx());
  expect(await count()).toBe(2_502);
  clock.advance(2 * 60_000);
  await removeOldAuditEvents(ctx());
  expect(await count()).toBe(1);
});

test("failed sign-ins with unknown emails are removed after a week, and no other event", async () => {
  const { id, email } = await newAccount();
  for (const tried of [email, "nobody@example.com"])
    await post("/api/auth/login", { email: tried, password: "a wrong one" });
  const target = `release:${id}`; // other files leave events of releases
  await ctx().db.auditEvent.create({ data: { type: "release_published", at: ctx().now(), target } });
  const count = async () => [
    await ctx().db.auditEvent.count({ where: { accountId: null, type: "sign_in_failed" } }),
    await ctx().db.auditEvent.count({ where: { accountId: id } }),
    await ctx().db.auditEvent.count({ where: { target } }),
  ];
  clock.advance(7 * DAY_MS - 60_000);
  await removeOldAuditEvents(ctx());
  expect(await count()).toEqual([1, 2, 1]);
  clock.advance(2 * 60_000);
  await removeOldAuditEvents(ctx());
  expect(await count()).toEqual([0, 2, 1]);
});
