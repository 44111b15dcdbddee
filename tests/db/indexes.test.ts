import { describe, expect, test } from "vitest";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { removeOldAuditEvents } from "@/lib/platform/audit/retention";
import { createEmailQueue } from "@/lib/platform/mail/queue";
import { createRateLimits } from "@/lib/platform/rate-limits";
import { removeUnverifiedDevices } from "@/lib/push/devices/devices";
import { cancelEvents } from "@/lib/push/outbox/enqueue";
import { maintainOutbox } from "@/lib/push/worker/maintenance";
import { newAccount } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { clearOutbox, deliverDue, newToken, queueFor, recordingPush } from "@/tests/support/push/push";

describe.runIf(postgresUrl)("on PostgreSQL an index serves", () => {
  test("the removal of expired rows", async () => {
    const config = { ...ctx().config, AUTH_REQUIRE_VERIFIED_EMAIL: true };
    const remove = async (db: ReturnType<typeof ctx>["db"]) => {
      await removeExpiredRows({ ...ctx(), config, db });
      await removeOldAuditEvents({ ...ctx(), db });
    };
    expect(await statementsWithoutIndex(remove, { inOrder: true })).toEqual([]);
  });

  test("sign-ins, their limits and the lookup of their sessions", async () => {
    const { email, password } = await newAccount();
    const signIns = async () => {
      const { token } = await (await post("/api/auth/login", { email, password }, { ip: "203.0.113.51" })).json();
      expect((await get("/api/auth/session", { token })).status).toBe(200);
      const wrong = { email, password: "wrong password" };
      const statuses = [];
      for (let i = 0; i < 11; i++) {
        statuses.push((await post("/api/auth/login", wrong, { ip: "203.0.113.52" })).status);
      }
      expect(statuses).toEqual([...Array(10).fill(401), 429]);
      expect((await call("POST", "/api/auth/signout", { token })).status).toBe(200);
    };
    expect(await statementsWithoutIndex((db) => withContext({ db }, signIns))).toEqual([]);
  });

  test("the queue of emails", async () => {
    const sent: unknown[] = [];
    const mailer = { send: async (email: unknown) => void sent.push(email) };
    const compose = async ({ to }: { to: string }) => ({ to, locale: "en" as const, subject: "", text: "", html: "" });
    const run = async (db: ReturnType<typeof ctx>["db"]) => {
      const queue = createEmailQueue<{ test: null }>({ ...ctx(), db, mailer }, { test: 60 }, { test: compose });
      await queue.enqueue(db, "test", "someone@example.com");
      queue.wake();
      await expect.poll(() => sent.length).toBe(1);
      await queue.close();
    };
    expect(await statementsWithoutIndex(run, { inOrder: true })).toEqual([]);
  });

  test("the removal of unverified devices, challenges, receipts and messages, and the release of leases", async () => {
    const remove = async (db: ReturnType<typeof ctx>["db"]) => {
      await removeUnverifiedDevices({ ...ctx(), db });
      await maintainOutbox({ ...ctx(), db });
    };
    expect(await statementsWithoutIndex(remove)).toEqual([]);
  });

  test("a delivery that fails, and the end of its event", async () => {
    await clearOutbox();
    await queueFor(1);
    const { push } = recordingPush(async () => ({ status: 500, reason: "InternalServerError" }));
    const fail = async (db: ReturnType<typeof ctx>["db"]) => {
      await deliverDue({ db, push });
      await db.$transaction((tx) => cancelEvents(tx, ctx().dbNow(), ["test"]));
    };
    expect(await statementsWithoutIndex(fail)).toEqual([]);
  });

  test("registrations of new, pending and active devices", async () => {
    const accounts = await Promise.all(Array.from({ length: 3 }, () => newAccount()));
    const token = newToken();
    const register = () =>
      Promise.all(accounts.map((account) => post("/api/push/register", { token }, { token: account.token })));
    const registrations = async () => {
      for (const { status } of [...(await register()), ...(await register())]) expect(status).toBe(202);
      const [{ id: accountId } = { id: "" }] = accounts;
      await ctx().db.pushDevice.updateMany({ where: { accountId }, data: { status: "active" } });
      expect((await register()).map(({ status }) => status)).toEqual([200, 202, 202]);
    };
    const run = (db: ReturnType<typeof ctx>["db"]) =>
      withContext(
        { db, limits: createRateLimits({ ...ctx(), db, pseudonymOf: ctx().limits.pseudonymOf }) },
        registrations,
      );
    expect(await statementsWithoutIndex(run)).toEqual([]);
  });

  test("every foreign key, which a deletion follows", async () => {
    const missing = await ctx().db.$queryRaw`
      SELECT conrelid::regclass::text AS "table", conname AS "key" FROM pg_constraint
      WHERE contype = 'f' AND NOT EXISTS (
        SELECT FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1]
          AND coalesce(pg_get_expr(indpred, indrelid) ~ '^[(]"?[[:alnum:]]+"? IS NOT NULL[)]$', true))`;
    expect(missing).toEqual([]);
  });
});
