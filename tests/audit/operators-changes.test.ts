import { afterEach, beforeAll, expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { accountWithRole } from "@/tests/support/auth/api-keys";
import { clock } from "@/tests/support/context";
import { onRow, repair } from "@/tests/support/subscriptions/faults";
import { deliveriesOf, newReceiver, removeEndpoints } from "@/tests/support/webhooks";

let admin: TestAccount;

beforeAll(async () => {
  admin = await accountWithRole("admin");
});
afterEach(repair);

/** Sends a request while the database, which is about to end, takes no event of a type. */
async function withoutEvent(type: string, request: () => Promise<Response>): Promise<void> {
  await onRow(
    "INSERT",
    `IF NEW.type = '${type}' THEN RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01'; END IF;`,
    "AuditEvent",
  );
  expect((await request()).status).toBe(503);
  await repair();
}

test("deliveries of webhooks are not queued again without their event", async () => {
  await removeEndpoints();
  const since = new Date(clock.now().getTime() - 60_000).toISOString();
  await newReceiver();
  await newAccount();
  const other = await newReceiver();
  const replay = () => post(`/api/admin/webhooks/${other.id}/replay`, { since }, { token: admin.token });
  await withoutEvent("webhook_replayed", replay);
  expect(await deliveriesOf(other.id)).toEqual([]);
  expect(await (await replay()).json()).toEqual({ queued: 1 });
});
