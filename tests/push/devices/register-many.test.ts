import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { revokeSession } from "@/lib/auth/sessions/sessions";
import { registerDevice } from "@/lib/push/devices/register-device";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { activate, activatedDevice, deviceRowsOf, insertDevices, newToken } from "@/tests/support/push/push";

const register = async ({ token }: Pick<TestAccount, "token">, json: object) => {
  const response = await post("/api/push/register", json, { token });
  return { status: response.status, body: await response.json() };
};
const newAccounts = (count: number) => Promise.all(Array.from({ length: count }, () => newAccount()));
const statusesOf = (responses: { status: number }[]) => responses.map(({ status }) => status).sort();
const isSuccess = ({ status }: { status: number }) => status === 202;

type Owner = Pick<TestAccount, "id" | "sessionId">;

/** Registers on another instance of the service, which batches its own registrations. Returns the status or code. */
async function registerElsewhere({ id, sessionId }: Owner, instance = ctx(), token = newToken()): Promise<string> {
  const body = { token, environment: "production", device: {} } as const;
  const caller = { ip: "unknown", userAgent: null, deviceId: randomUUID() } as never;
  try {
    await registerDevice(instance, { account: { id }, session: { id: sessionId } }, body, caller);
    return "registered";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test("simultaneous registrations have the same effect as one after the other", async () => {
  const accounts = await newAccounts(6);
  const details = (i: number) => ({
    installationId: i % 3 ? randomUUID() : undefined,
    environment: i % 4 ? "production" : "sandbox",
    device: i % 5 ? { name: `Phone ${i}`, model: "iPhone18,1", osVersion: "26.1", locale: "de-CH" } : undefined,
  });
  const given = accounts.map((_, i) => ({ token: newToken(), ...details(i) }));
  const together = await Promise.all(accounts.map((account, i) => register(account, given[i] ?? {})));
  const others = await newAccounts(6);
  for (const [i, account] of accounts.entries()) {
    const [batched, other] = [together[i], others[i] as TestAccount];
    const alone = await register(other, { ...given[i], token: newToken() });
    const any = { id: expect.any(String), createdAt: expect.any(String), lastSeenAt: expect.any(String) };
    expect(batched).toEqual({
      status: 202,
      body: {
        device: { ...alone.body.device, ...any, tokenSuffix: given[i]?.token.slice(-4) },
        challenge: { id: expect.any(String), value: expect.any(String), expiresAt: expect.any(String) },
      },
    });
    const [row] = await deviceRowsOf(account);
    const [otherRow] = await deviceRowsOf(other);
    const changed = { accountId: account.id, sessionId: account.sessionId, token: given[i]?.token };
    const times = { createdAt: row?.createdAt, registeredAt: row?.registeredAt, lastSeenAt: row?.lastSeenAt };
    expect(row).toEqual({ ...otherRow, ...changed, ...times, id: batched?.body.device.id });
    const deviceId = row?.id ?? "";
    expect(await ctx().db.pushChallenge.findMany({ where: { deviceId } })).toMatchObject([
      { id: batched?.body.challenge.id, value: batched?.body.challenge.value, usedAt: null },
    ]);
    expect(await ctx().db.queuedPush.count({ where: { deviceId } })).toBe(1);
  }
});

test("a hundred simultaneous registrations of one account add 20 devices, and nothing fails", async () => {
  const account = await newAccount();
  const responses = await Promise.all(Array.from({ length: 100 }, () => register(account, { token: newToken() })));
  const expected = [...Array(20).fill(202), ...Array(40).fill(409), ...Array(40).fill(429)];
  expect(statusesOf(responses)).toEqual(expected);
  expect(await deviceRowsOf(account)).toHaveLength(20);
});

test("instances that register the last device of an account at the same time add one", async () => {
  const instances = [{ ...ctx() }, { ...ctx() }, { ...ctx() }, { ...ctx() }];
  for (const account of await newAccounts(4)) {
    await insertDevices(
      account,
      Array.from({ length: 19 }, () => newToken()),
    );
    const results = await Promise.all(instances.map((instance) => registerElsewhere(account, instance)));
    expect(results.sort()).toEqual([...Array(3).fill("device_limit_reached"), "registered"]);
    expect(await deviceRowsOf(account)).toHaveLength(20);
  }
});

test("an active device that registers several times at the same time stays one active device", async () => {
  const account = await newAccount();
  const token = newToken();
  await activate((await register(account, { token })).body.device.id);
  const names = ["one", "two", "three"];
  const responses = await Promise.all(names.map((name) => register(account, { token, device: { name } })));
  expect(statusesOf(responses)).toEqual([200, 200, 200]);
  const [row] = await deviceRowsOf(account);
  expect(row).toMatchObject({ status: "active" });
  expect(names).toContain(row?.name);
});

test("a session that ends while it registers a device leaves no device", async () => {
  const account = await newAccount();
  await revokeSession(ctx(), account.sessionId);
  expect(await registerElsewhere(account)).toBe("unauthenticated");
  expect(await deviceRowsOf(account)).toEqual([]);
});

test("a session that ends while it registers an active device again does not change it", async () => {
  const token = newToken();
  const { account } = await activatedDevice({ token });
  const { email, password, id, sessionId } = account;
  const { session } = await (await post("/api/auth/login", { email, password })).json();
  await revokeSession(ctx(), session.id);
  expect(await registerElsewhere({ id, sessionId: session.id }, ctx(), token)).toBe("unauthenticated");
  expect(await deviceRowsOf(account)).toMatchObject([{ status: "active", sessionId }]);
});

test("ended sessions and deleted accounts are refused, and the registrations beside them succeed", async () => {
  const [revoked, deleted, ...others] = await newAccounts(8);
  if (!revoked || !deleted) throw new Error("there are eight accounts");
  const given = [revoked, deleted, ...others].map((account) => ({ account, json: { token: newToken() } }));
  const responses = Promise.all(given.map(({ account, json }) => register(account, json)));
  await revokeSession(ctx(), revoked.sessionId);
  await ctx().db.account.delete({ where: { id: deleted.id } });
  const [first, second, ...rest] = await responses;
  expect([202, 401]).toContain(first?.status);
  expect([202, 401]).toContain(second?.status);
  expect(rest.every(isSuccess)).toBe(true);
  // Registered before or refused after: in either case no device is left.
  expect([...(await deviceRowsOf(revoked)), ...(await deviceRowsOf(deleted))]).toEqual([]);
});

test.runIf(postgresUrl)("connections that end during a batch cause 503, and the apps register again", async () => {
  const given = (await newAccounts(60)).map((account) => ({ account, json: { token: newToken() } }));
  const responses = Promise.all(given.map(({ account, json }) => register(account, json)));
  for (let i = 0; i < 5; i++) {
    await ctx().db.$queryRaw`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`.catch(() => {});
  }
  for (const { status } of await responses) expect([202, 503]).toContain(status);
  for (const { account, json } of given) {
    expect((await register(account, json)).status).toBe(202);
    expect(await deviceRowsOf(account)).toHaveLength(1);
  }
});
