import { expect, test } from "vitest";
import { type OwnerEvent, ownerAppUserIds, ownerSteps } from "@/lib/subscriptions/ownership";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const names = (minute: number, ...named: string[]): OwnerEvent => ({
  id: `names ${named}`,
  occurredAt: at(minute),
  appUserIds: named,
  transferredFrom: null,
});
const transfer = (minute: number, from: string[], to: string[]): OwnerEvent => ({
  ...names(minute, ...to),
  id: "a transfer",
  transferredFrom: from,
});

test("the newest event names the owner, and older ones whoever else it may be", () => {
  expect(ownerAppUserIds([names(2, "bob"), names(1, "ann", "anonymous")], [])).toEqual(["bob", "ann", "anonymous"]);
});

test("a transfer moves a purchase from whoever has it then, and leaves no older name", () => {
  expect(ownerAppUserIds([names(1, "ann"), transfer(2, ["ann"], ["bob"])], [])).toEqual(["bob"]);
  expect(ownerAppUserIds([names(1, "ann"), transfer(2, ["carl"], ["bob"])], [])).toEqual(["ann"]);
});

test("a transfer follows the other events of the same time", () => {
  expect(ownerAppUserIds([transfer(1, ["ann"], ["bob"]), names(1, "ann")], [])).toEqual(["bob"]);
});

test("of two events of the same time, the one with the higher id is the newer", () => {
  const events = [names(1, "bob"), names(1, "ann"), names(1, "carl")];
  for (const some of [events, events.toReversed()]) expect(ownerAppUserIds(some, [])).toEqual(["carl", "bob", "ann"]);
});

test("an alias is another name of the same customer, over any number of steps", () => {
  const aliases = [
    ["phone", "web"],
    ["web", "account"],
  ];
  expect(ownerAppUserIds([names(1, "phone")], aliases)).toEqual(["phone", "web", "account"]);
  expect(ownerAppUserIds([names(1, "phone")], aliases.toReversed())).toEqual(["phone", "web", "account"]);
  expect(ownerAppUserIds([names(1, "phone"), transfer(2, ["account"], ["bob"])], aliases)).toEqual(["bob"]);
});

test("an event that names nobody changes nothing", () => {
  expect(ownerAppUserIds([names(1, "ann"), names(2)], [])).toEqual(["ann"]);
  expect(ownerAppUserIds([names(1, "ann"), names(2), transfer(3, ["ann"], ["bob"])], [])).toEqual(["bob"]);
  expect(ownerSteps([names(1)], [])).toEqual([]);
  expect(ownerAppUserIds([], [["a", "b"]])).toEqual([]);
});
