import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { anonymous, billingEvent, deliverOk, statusOf } from "@/tests/support/subscriptions/billing";
import { ownerOf, purchaseBy, transfer } from "@/tests/support/subscriptions/customers";
import { replay } from "@/tests/support/subscriptions/operator-actions";

async function remove({ password, token }: TestAccount): Promise<void> {
  const response = await post("/api/auth/account/delete", { confirm: "DELETE", password }, { token });
  expect(response.status).toBe(200);
}

test("after a deletion transferred purchases stay with their new owner", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(ann.id, 10);
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await remove(ann);
  await deliverOk(purchaseBy(bob.id, 1, { original_transaction_id: bought.original_transaction_id, type: "RENEWAL" }));
  await deliverOk(billingEvent("PRODUCT_CHANGE", { original_transaction_id: bought.original_transaction_id }));
  expect(await statusOf(bob)).toMatchObject({ isActive: true });
  expect(JSON.stringify(await ctx().db.billingEvent.findMany())).not.toContain(ann.id);
});

test("a customer who deletes the account, signs up again and restores purchases gets them back, however often", async () => {
  const [first, others] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(first.id, 10);
  const kept = purchaseBy(first.id, 10, { store: "PLAY_STORE" });
  for (const event of [bought, kept, purchaseBy(others.id, 10)]) await deliverOk(event);
  await remove(first);
  const second = await newAccount();
  expect(await deliverOk(transfer([first.id.toUpperCase(), anonymous()], [second.id], 8))).toBe("processed");
  expect(await statusOf(second)).toMatchObject({ status: "active", isActive: true, store: "APP_STORE" });
  await remove(second);
  const third = await newAccount();
  await deliverOk(transfer([second.id], [third.id], 6, { store: undefined }));
  expect(await statusOf(third)).toMatchObject({ isActive: true, store: "APP_STORE" });
  expect((await statusOf(third)).subscriptions).toHaveLength(1);
  expect(await ownerOf(kept)).toBeNull();
  expect((await statusOf(others)).subscriptions).toHaveLength(1);
});

test("an alias of a deleted account's id gives what was bought under it, and so does a transfer that is replayed", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  for (const person of [ann, bob]) await deliverOk(purchaseBy(person.id, 10));
  for (const person of [ann, bob]) await remove(person);
  const [newAnn, newBob] = [await newAccount(), await newAccount()];
  await deliverOk({ id: randomUUID(), type: "SUBSCRIBER_ALIAS", app_user_id: newAnn.id, aliases: [ann.id] });
  expect(await statusOf(newAnn)).toMatchObject({ isActive: true });
  const moved = transfer([bob.id], [newBob.id], 5);
  await deliverOk(moved);
  // As a version left them that knew no stand-ins.
  const names = { appUserIds: [newBob.id, bob.id], transferredFrom: [bob.id] };
  await ctx().db.billingEvent.updateMany({ where: { eventId: moved.id }, data: names });
  await ctx().db.purchase.updateMany({ where: { accountId: newBob.id }, data: { accountId: null, appUserIds: [] } });
  expect(await statusOf(newBob)).toMatchObject({ status: "none" });
  expect(await replay({ eventId: moved.id })).toEqual({ processed: 1 });
  expect(await statusOf(newBob)).toMatchObject({ isActive: true });
});
