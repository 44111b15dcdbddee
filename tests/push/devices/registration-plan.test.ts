import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { completeRegistration, planRegistration } from "@/lib/push/devices/registration";

const wanted = { token: "aa", environment: "production" as const, bundleId: "com.example.app", device: {} };
const row = (change: object = {}) => ({
  id: randomUUID(),
  status: "active" as const,
  installationId: null,
  ...wanted,
  ...change,
});
const many = (count: number) => Array.from({ length: count }, (_, n) => row({ token: `${n}` }));

test("an unknown token creates a device", () => {
  expect(planRegistration(many(19), wanted)).toEqual({ step: "create" });
});

test("an account has at most 20 devices", () => {
  expect(() => planRegistration(many(20), wanted)).toThrow(expect.objectContaining({ code: "device_limit_reached" }));
});

test("an active device with the same token is refreshed", () => {
  const device = row();
  expect(planRegistration([device], wanted)).toEqual({ step: "refresh", device });
});

test.each(["pending", "invalid"] as const)("a device that is %s gets a challenge", (status) => {
  const device = row({ status });
  expect(planRegistration([device], wanted)).toMatchObject({
    step: "challenge",
    device,
    isTargetNew: false,
    replacedDeviceId: null,
  });
});

const moves = [{ token: "bb" }, { environment: "sandbox" }, { bundleId: "com.example.other" }];

test.each(moves)("an active device of the same installation with %o stays unchanged before the evidence", (old) => {
  const installationId = randomUUID();
  const device = row({ ...old, installationId });
  expect(planRegistration([device], { ...wanted, installationId })).toEqual({ step: "create" });
  expect(planRegistration([device, ...many(20)], { ...wanted, token: "cc", installationId })).toEqual({
    step: "create",
  });
});

test.each(moves)("a device of the same installation with %o that is not active gets a challenge", (old) => {
  const installationId = randomUUID();
  const [active, device] = [row({ token: "dd", installationId }), row({ ...old, installationId, status: "pending" })];
  const plan = planRegistration([active, device], { ...wanted, installationId });
  expect(plan).toMatchObject({ step: "challenge", device, isTargetNew: true, replacedDeviceId: null });
});

test("an active device with the same token comes before one with the same installation id", () => {
  const installationId = randomUUID();
  const [installed, addressed] = [row({ token: "bb", installationId, status: "pending" }), row()];
  const plan = planRegistration([installed, addressed], { ...wanted, installationId });
  expect(plan).toEqual({ step: "refresh", device: addressed });
});

test("an inactive device with the same installation id replaces one with the same token", () => {
  const installationId = randomUUID();
  const [installed, addressed] = [row({ token: "bb", installationId, status: "invalid" }), row({ status: "pending" })];
  expect(planRegistration([addressed, installed], { ...wanted, installationId })).toMatchObject({
    step: "challenge",
    device: installed,
    replacedDeviceId: addressed.id,
  });
});

test("devices without an installation id are different installations", () => {
  expect(planRegistration([row({ token: "bb" })], wanted)).toEqual({ step: "create" });
});

test("the default bundle ID is the first one configured", () => {
  expect(completeRegistration(["one", "two"], { ...wanted, bundleId: undefined })).toMatchObject({ bundleId: "one" });
  expect(completeRegistration(["one", "two"], { ...wanted, bundleId: "two" })).toMatchObject({ bundleId: "two" });
});

test("a bundle ID that is not configured is invalid", () => {
  expect(() => completeRegistration(["one"], wanted)).toThrow(expect.objectContaining({ code: "validation_failed" }));
});
