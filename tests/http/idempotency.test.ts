import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { composeContext } from "@/lib/compose";
import { type Config, loadConfig } from "@/lib/platform/config";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";

const NEW_KEY = { name: "Release pipeline", scopes: ["releases:write"] };

/** A change that an admin makes with an Idempotency-Key, as often as it is sent. */
async function newChange() {
  const { token } = await accountWithRole("admin");
  const headers = { "idempotency-key": randomUUID() };
  return () => post("/api/admin/keys", NEW_KEY, { token, headers });
}

/** What a process leaves behind that is killed while it processes every request so far. */
async function leaveUnfinished(): Promise<void> {
  const expiresAt = new Date(clock.now().getTime() + 40_000);
  await ctx().db.idempotentRequest.updateMany({ data: { status: null, body: null, expiresAt } });
}

test("a request that another process may still work on is refused, with the time until it can be repeated", async () => {
  const send = await newChange();
  expect((await send()).status).toBe(201);
  await leaveUnfinished();
  const refused = await send();
  const seconds = Number(refused.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(1);
  expect(seconds).toBeLessThanOrEqual(40);
  const detail = expect.stringContaining(`in ${seconds} s`);
  expect(await refused.json()).toMatchObject({ status: 409, code: "request_in_progress", detail });
  clock.advance(seconds * 1000);
  expect((await send()).status).toBe(201);
});

/** The service on an embedded database of its own, from a start to its stop. */
async function withService<T>(config: Config, run: () => Promise<T>): Promise<T> {
  const context = await composeContext(config, { log: pino({ level: "silent" }) });
  return withContext(context, run).finally(context.close);
}

test("a start on the embedded database, which nobody else has open, frees the keys of the process before it", async () => {
  const config = loadConfig({
    DATA_DIR: await mkdtemp(path.join(tmpdir(), "homeport-test-")),
    RELEASE_ADOPTION: "off",
  });
  const send = await withService(config, async () => {
    const change = await newChange();
    expect((await change()).status).toBe(201);
    await leaveUnfinished();
    expect((await change()).status).toBe(409);
    return change;
  });
  await withService(config, async () => {
    expect((await send()).status).toBe(201);
    expect((await (await send()).json()).code).toBe("idempotency_key_used");
  });
});
