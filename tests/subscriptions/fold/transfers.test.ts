import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { accountWithId, newAccount } from "@/tests/support/accounts";
import { clock } from "@/tests/support/context";
import { anonymous, billingEvent, deliverOk, statusOf, storedEvent } from "@/tests/support/subscriptions/billing";
import { ownerOf, purchaseBy, transfer } from "@/tests/support/subscriptions/customers";

test("a transfer takes a purchase from one account and gives it to another", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(ann.id, 10);
  await deliverOk(bought);
  expect(await deliverOk(transfer([ann.id], [anonymous(), bob.id.toUpperCase()], 5))).toBe("processed");
  expect(await statusOf(ann)).toMatchObject({ status: "none", isActive: false, subscriptions: [] });
  expect(await statusOf(bob)).toMatchObject({ status: "active", isActive: true });
});

test("a transfer moves only what its giver has at that moment, in the store and the environment that it names", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const [here, elsewhere, sandbox] = [
    purchaseBy(ann.id, 10),
    purchaseBy(ann.id, 10, { store: "PLAY_STORE" }),
    purchaseBy(ann.id, 10, { environment: "SANDBOX" }),
  ];
  const [later, bobs] = [purchaseBy(ann.id, 1), purchaseBy(bob.id, 10)];
  for (const event of [here, elsewhere, sandbox, bobs]) await deliverOk(event);
  await deliverOk(transfer([ann.id], [bob.id], 5));
  await deliverOk(later);
  expect(await Promise.all([here, elsewhere, sandbox, later, bobs].map(ownerOf))).toEqual([
    bob.id,
    ann.id,
    ann.id,
    ann.id,
    bob.id,
  ]);
});

test("a transfer that names neither store nor environment is narrowed by neither", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const bought = purchaseBy(ann.id, 10, { store: "PLAY_STORE" });
  await deliverOk(bought);
  await deliverOk(transfer([ann.id], [bob.id], 5, { store: undefined, environment: undefined }));
  expect(await ownerOf(bought)).toBe(bob.id);
});

test("a purchase transferred to an unknown customer has no account until the customer signs up and reads the status", async () => {
  const [ann, id] = [await newAccount(), randomUUID()];
  await deliverOk(purchaseBy(ann.id, 10));
  await deliverOk(transfer([ann.id], [id.toUpperCase()], 5));
  expect(await statusOf(ann)).toMatchObject({ status: "none" });
  expect(await statusOf(await accountWithId(id))).toMatchObject({ status: "active", isActive: true });
});

test("a transfer without anybody to take from, or to give to, is kept as failed", async () => {
  for (const event of [transfer([], [randomUUID()], 1), transfer([randomUUID()], [], 1)]) {
    expect(await deliverOk(event)).toBe("failed");
    expect(await storedEvent(event.id)).toMatchObject({ reason: "transfer_names_nobody" });
  }
});

test("a transfer from a customer with a hundred ids moves the purchase", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const aliases = Array.from({ length: 100 }, anonymous);
  await deliverOk(billingEvent("INITIAL_PURCHASE", { app_user_id: ann.id, original_app_user_id: aliases[0], aliases }));
  clock.advance(1000);
  expect(await deliverOk(transfer([ann.id, ...aliases], [bob.id], 0))).toBe("processed");
  expect([(await statusOf(ann)).isActive, (await statusOf(bob)).isActive]).toEqual([false, true]);
});
