import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { newAccount } from "../support/accounts";
import { call, get, post } from "../support/api";
import { billingEvent, deliverOk } from "../support/billing";
import { ctx } from "../support/context";
import { contentLength } from "../support/door";
import { insertDevices, newToken } from "../support/push";

const EXPORT = "/api/auth/account/export";

test("an account with 20 devices and 1,000 events is exported whole, and nobody else's", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const tokens = Array.from({ length: 20 }, () => newToken());
  await insertDevices(ann, tokens);
  await insertDevices(bob, [newToken()]);
  const at = ctx().now();
  await ctx().db.securityEvent.createMany({
    data: Array.from({ length: 700 }, () => ({ accountId: ann.id, type: "sign_in_failed" as const, at })),
  });
  const purchase = billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id });
  await deliverOk(purchase);
  const { id, normalized, ...first } = await ctx().db.billingEvent.findFirstOrThrow({
    where: { eventId: purchase.id },
  });
  await ctx().db.billingEvent.createMany({
    data: Array.from({ length: 299 }, (_, i) => ({
      ...first,
      ...{ normalized: normalized ?? {}, payload: { note: "ü".repeat(500) }, eventId: `${purchase.id}-${i}` },
    })),
  });
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: bob.id }));

  const response = await get(EXPORT, { token: ann.token });
  const text = await response.text();
  const data = JSON.parse(text);
  expect(data.devices).toHaveLength(20);
  expect(data.billingEvents).toHaveLength(300);
  expect(data.securityEvents).toHaveLength(702); // with "registered" before, and "exported" at the end
  expect(data.securityEvents.at(-1)).toMatchObject({ type: "exported" });
  expect(data.subscriptions).toHaveLength(1);
  expect(data.sessions).toMatchObject([{ id: ann.sessionId, transport: "token" }]);
  const { passwordHash } = await ctx().db.account.findUniqueOrThrow({ where: { id: ann.id } });
  for (const secret of [ann.token, passwordHash ?? "", "$2b$", ...tokens]) expect(text).not.toContain(secret);
  for (const other of [bob.id, bob.email]) expect(text).not.toContain(other);
});

test("the export is of one moment: what is written meanwhile is in it whole or not at all", async () => {
  const { id, token } = await newAccount();
  let isOver = false;
  // Each change raises both numbers in one transaction.
  const writer = (async () => {
    for (let n = 1; !isOver; n++) {
      await ctx().db.$transaction(async (tx) => {
        await tx.account.update({ where: { id }, data: { name: `after ${n} events` } });
        await tx.securityEvent.create({ data: { accountId: id, type: "signed_out", at: ctx().now() } });
      });
      await nextTurn(); // PGlite answers within one: sockets would never get theirs
    }
  })();
  try {
    for (let i = 0; i < 5; i++) {
      const { account, securityEvents } = await (await get(EXPORT, { token })).json();
      const events = securityEvents.filter(({ type }: { type: string }) => type === "signed_out");
      expect(account.name ?? "after 0 events").toBe(`after ${events.length} events`);
    }
  } finally {
    isOver = true;
    await writer;
  }
});

test("HEAD says what the export is without making one, counting one or writing one down", async () => {
  const { id, token } = await newAccount();
  for (let i = 0; i < 7; i++) {
    const head = await call("HEAD", EXPORT, { token });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-type")).toBe("application/json");
    expect(head.headers.get("content-disposition")).toMatch(/^attachment; filename="account-export-[\d-]{10}\.json"$/);
    expect(await head.text()).toBe("");
  }
  expect((await call("HEAD", EXPORT)).status).toBe(401);
  const whole = await get(EXPORT, { token });
  expect(whole.status).toBe(200);
  expect(whole.headers.get("content-length")).toBe(contentLength((await whole.arrayBuffer()).byteLength));
  expect(await ctx().db.securityEvent.count({ where: { accountId: id, type: "exported" } })).toBe(1);
});

test("a failed sign-in stands in the export with a coarse address and the client", async () => {
  const { email, token } = await newAccount();
  const from = { address: "203.0.113.55", headers: { "user-agent": "Homeport/1.0 (test)" } };
  await post("/api/auth/login", { email, password: "a wrong one" }, from);
  const { securityEvents } = await (await get(EXPORT, { token })).json();
  expect(securityEvents[1]).toEqual({
    type: "sign_in_failed",
    at: expect.stringMatching(/Z$/),
    address: "203.0.113.0/24",
    client: "Homeport/1.0 (test)",
  });
});
