import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { type OwnerEvent, ownerAppUserIds } from "@/lib/subscriptions/ownership";

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const names = (minute: number, ...named: string[]): OwnerEvent => ({
  id: randomUUID(),
  occurredAt: at(minute),
  appUserIds: named,
  transferredFrom: null,
});
const transfer = (minute: number, from: string[], to: string[]): OwnerEvent => ({
  ...names(minute, ...to),
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

test("an alias is another name of the same customer, over any number of steps", () => {
  const aliases = [
    ["phone", "web"],
    ["web", "account"],
  ];
  expect(ownerAppUserIds([names(1, "phone")], aliases)).toEqual(["phone", "web", "account"]);
  expect(ownerAppUserIds([names(1, "phone"), transfer(2, ["account"], ["bob"])], aliases)).toEqual(["bob"]);
});

test("an event that names nobody changes nothing", () => {
  expect(ownerAppUserIds([names(1, "ann"), names(2)], [])).toEqual(["ann"]);
  expect(ownerAppUserIds([], [["a", "b"]])).toEqual([]);
});
