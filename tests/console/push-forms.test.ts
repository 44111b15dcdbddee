import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { operatorWithRole } from "@/tests/support/console/operators";
import { clock, ctx } from "@/tests/support/context";
import { activeDevices, clearOutbox, deliverDue, recordingPush } from "@/tests/support/push/push";
import { flashOf, submit } from "@/tests/support/web/forms";

let admin: Awaited<ReturnType<typeof operatorWithRole>>;
beforeEach(async () => {
  await clearOutbox();
  admin = await operatorWithRole("admin");
});

const locationOf = (response: Response) => response.headers.get("location") ?? "";

function textFor(accountId: string, fields: Record<string, string> = {}) {
  return { accountId, messageKey: randomUUID(), title: "A title", body: "A text", link: "", ...fields };
}

function audienceText(fields: Record<string, string> = {}) {
  const everyone = { bundleId: "", platform: "", appFrom: "", appBelow: "", locale: "", entitlement: "", seenFrom: "" };
  const text = { messageKey: randomUUID(), title: "A title", body: "A text", link: "" };
  return { ...text, ...everyone, seenBefore: "", sendAt: "", perSecond: "", ...fields };
}

describe("the form that sends to an audience", () => {
  test("stores the choices and the time, once however often it is submitted", async () => {
    const sendAt = new Date(+clock.now() + 86_400_000).toISOString().slice(0, 16);
    const choices = { platform: "ios", appBelow: "2.0", seenFrom: "2026-01-02", sendAt, perSecond: "5" };
    const fields = audienceText(choices);
    const sent = await submit("console/sendToAudience", fields, admin);
    expect(locationOf(sent)).toMatch(/^\/console\/push\/messages\/[\da-f-]{36}\?done=sent$/);
    expect(locationOf(await submit("console/sendToAudience", fields, admin))).toBe(locationOf(sent));
    const broadcast = await ctx().db.pushBroadcast.findUnique({ where: { messageId: locationOf(sent).slice(23, 59) } });
    expect(broadcast).toMatchObject({
      audience: { platform: "ios", appVersion: { below: "2.0" }, lastSeen: { from: "2026-01-02T00:00:00Z" } },
      perSecond: 5,
      startsAt: new Date(`${sendAt}Z`),
    });
  });

  test("says which choice is wrong", async () => {
    const wrong = audienceText({
      platform: "android",
      appFrom: "two",
      seenFrom: "soon",
      sendAt: "now",
      perSecond: "0",
    });
    const flash = flashOf(await submit("console/sendToAudience", wrong, admin));
    expect(Object.keys(flash?.fields ?? {}).sort()).toEqual(["appFrom", "perSecond", "platform", "seenFrom", "sendAt"]);
  });
});

describe("the form that sends a notification", () => {
  test("sends it to a test device, then to all of the account, once however often it is submitted", async () => {
    const [first, second] = await activeDevices(admin, 2);
    const returnTo = `/console/push/send?account=${admin.id}&title=A`;
    const tested = await submit(
      "console/sendNotification",
      textFor(admin.id, { deviceId: first?.id ?? "", returnTo }),
      admin,
    );
    expect(locationOf(tested)).toBe(`${returnTo}&done=test_sent`);
    const fields = textFor(admin.id, { deviceId: "" });
    const sent = await submit("console/sendNotification", fields, admin);
    expect(locationOf(sent)).toMatch(/^\/console\/push\/messages\/[\da-f-]{36}\?done=sent$/);
    expect(locationOf(await submit("console/sendNotification", fields, admin))).toBe(locationOf(sent));
    const { push, sent: arrived } = recordingPush();
    await deliverDue({ push });
    expect(arrived.map(({ token }) => token).sort()).toEqual([first?.token, first?.token, second?.token].sort());
  });

  test("sends a long text in any script, though its preview's URL has it, too", async () => {
    await activeDevices(admin, 1);
    const body = "漢".repeat(900);
    const returnTo = `/console/push/send?${new URLSearchParams({ account: admin.id, title: "A", body })}`;
    const sent = await submit("console/sendNotification", textFor(admin.id, { body, returnTo }), admin);
    expect(locationOf(sent)).toMatch(/^\/console\/push\/messages\/[\da-f-]{36}\?done=sent$/);
  });

  test("says which field is wrong, and that an account has no device", async () => {
    const wrong = await submit("console/sendNotification", textFor(admin.id, { title: " " }), admin);
    expect(Object.keys(flashOf(wrong)?.fields ?? {})).toEqual(["title"]);
    const nobody = await submit("console/sendNotification", textFor(admin.id), admin);
    expect(flashOf(nobody)?.message).toBeTruthy();
  });
});

test("the forms that send change nothing without a recent sign-in", async () => {
  await activeDevices(admin, 1);
  clock.advance(11 * 60_000);
  const before = await ctx().db.auditEvent.count();
  await submit("console/sendNotification", textFor(admin.id), admin);
  await submit("console/sendToAudience", audienceText(), admin);
  await submit("console/announceVersion", { version: "7.7.7", bundleId: "", perSecond: "10" }, admin);
  expect(await ctx().db.auditEvent.count()).toBe(before);
});

test("an announcement is made by a form once its warning was shown, and canceled by another", async () => {
  await activeDevices(admin, 1);
  const version = `5.${Date.now()}`;
  const fields = { version, bundleId: "", perSecond: "100" };
  const preview = `/console/push/announce?version=${version}`;
  const unseen = await submit("console/announceVersion", { ...fields, isWarned: "", returnTo: preview }, admin);
  expect(locationOf(unseen)).toBe(`${preview}&done=stale`);
  const made = await submit("console/announceVersion", { ...fields, isWarned: "on" }, admin);
  expect(locationOf(made)).toMatch(/done=announced$/);
  const message = await ctx().db.pushMessage.findUniqueOrThrow({ where: { eventKey: `version:${version}` } });
  const returnTo = `/console/push/messages/${message.id}`;
  const canceled = await submit("console/cancelPushMessage", { messageId: message.id, returnTo }, admin);
  expect(locationOf(canceled)).toBe(`${returnTo}?done=canceled`);
  expect(await ctx().db.pushMessage.findUnique({ where: { id: message.id } })).toMatchObject({
    canceledAt: expect.any(Date),
  });
});
