import { createHash, randomBytes, randomUUID, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newAttestKey } from "@/dev/app-attest/app-attest";
import { sendMessage } from "@/lib/push/admin/send";
import { newAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { requeueReceipts } from "@/tests/support/push/deliveries";
import { challengedAgain, challengedPhone, expectInvalid } from "@/tests/support/push/evidence";
import {
  answer,
  asserted,
  attested,
  challenge,
  decidingTogether,
  type Phone,
  signedByDeviceKey,
  verifiedDevice,
} from "@/tests/support/push/phone";
import { activeDevices, deliverDue, deviceRow, newToken, recordingPush } from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;

const BUNDLES = ["com.example.homeport", "com.example.other"];

describe("evidence for another purpose", () => {
  test.each([
    ["another token", { token: newToken() }],
    ["another environment", { environment: "sandbox" as const }],
    ["another bundle", { bundleId: "com.example.other" }],
    ["another installation", { installationId: randomUUID() }],
  ])("registered with %s is invalid for the challenge of that device", async (_, change) => {
    await withContext({ config: { APNS_BUNDLE_IDS: BUNDLES } }, async () => {
      const { account, phone, challenged } = await challengedPhone();
      const evidence = attested(account, phone, challenged);
      await expectInvalid(await answer(account, { ...phone, ...change }, evidence), "challenge_unknown");
      expect(await ctx().db.pushDevice.findMany({ where: { accountId: account.id } })).toMatchObject([
        { id: challenged.deviceId, token: phone.token, status: "pending" },
      ]);
    });
  });

  type Signer = (...asked: Parameters<typeof attested>) => object;
  const signedFor =
    (change: Partial<Phone>): Signer =>
    (by, phone, asked) =>
      attested(by, { ...phone, ...change }, asked);
  test.each<[string, string, Signer]>([
    ["signed for another token", "nonce_mismatch", signedFor({ token: newToken() })],
    ["signed for another bundle", "nonce_mismatch", signedFor({ bundleId: "com.example.other" })],
    ["signed for another environment", "nonce_mismatch", signedFor({ environment: "sandbox" })],
    ["signed for another account", "nonce_mismatch", (_, phone, asked) => attested({ id: randomUUID() }, phone, asked)],
    [
      "without the nonce from APNs, even with the challenge's value,",
      "push_nonce_mismatch",
      (by, phone, asked) => attested(by, phone, { ...asked, pushNonce: randomBytes(32).toString("base64url") }),
    ],
    [
      "for an unknown challenge",
      "challenge_unknown",
      (by, phone, asked) => attested(by, phone, { ...asked, challengeId: randomUUID() }),
    ],
  ])("%s is invalid: %s", async (_, reason, sign) => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(await answer(account, phone, sign(account, phone, challenged)), reason);
  });

  test("signed for another challenge is invalid", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const { challengeId, pushNonce } = challenged;
    const evidence = { ...attested(account, phone, await challenge(account, phone)), challengeId, pushNonce };
    await expectInvalid(await answer(account, phone, evidence), "nonce_mismatch");
  });

  test("presented by another account is invalid for that account's challenges", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const thief = await newAccount();
    const evidence = attested(account, phone, challenged);
    await expectInvalid(await answer(thief, phone, evidence), "challenge_unknown");
    await challenge(thief, phone);
    await expectInvalid(await answer(thief, phone, evidence), "challenge_unknown");
  });

  test("that is invalid leaves the device pending and the challenge open", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(
      await answer(account, phone, attested(account, phone, challenged, { counter: 1 })),
      "counter_not_zero",
    );
    expect((await deviceRow(challenged.deviceId)).status).toBe("pending");
    expect((await answer(account, phone, attested(account, phone, challenged))).status).toBe(200);
  });

  test("does not activate a device that became invalid meanwhile", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await ctx().db.pushDevice.update({ where: { id: challenged.deviceId }, data: { status: "invalid" } });
    await expectInvalid(await answer(account, phone, attested(account, phone, challenged)), "challenge_unknown");
    expect((await deviceRow(challenged.deviceId)).status).toBe("invalid");
    expect((await verifiedDevice(account, phone)).status).toBe("active");
  });
});

describe("a challenge", () => {
  const status = async (response: Response) => ({ status: response.status, code: (await response.json()).code });

  test("expires after 15 minutes", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const evidence = attested(account, phone, challenged);
    clock.advance(15 * MINUTE_MS);
    expect(await status(await answer(account, phone, evidence))).toEqual({ status: 409, code: "challenge_expired" });
    expect((await deviceRow(challenged.deviceId)).status).toBe("pending");
  });

  test("can be used once, until it expires", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const evidence = attested(account, phone, challenged);
    clock.advance(14 * MINUTE_MS);
    expect((await answer(account, phone, evidence)).status).toBe(200);
    expect(await status(await answer(account, phone, evidence))).toEqual({ status: 409, code: "challenge_used" });
    expect((await deviceRow(challenged.deviceId)).status).toBe("active");
  });

  test("succeeds once among concurrent uses", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const evidence = attested(account, phone, challenged);
    const responses = await withContext({ db: decidingTogether(5) }, () =>
      Promise.all([1, 2, 3, 4, 5].map(() => answer(account, phone, evidence))),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, 409, 409, 409, 409]);
    const where = { accountId: account.id, type: "device_verified" as const };
    expect(await ctx().db.auditEvent.count({ where })).toBe(1);
  });

  test("ends when its device changes its token", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await challenge(account, { ...phone, token: newToken() });
    const back = { ...phone };
    await challenge(account, back);
    await expectInvalid(await answer(account, back, attested(account, back, challenged)), "challenge_unknown");
  });
});

describe("a device with evidence", () => {
  test("becomes active with an attestation, which is in the audit trail", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const response = await answer(account, phone, attested(account, phone, challenged));
    expect(response.status).toBe(200);
    const body = await response.json();
    expect(body).toEqual({
      device: expect.objectContaining({ id: challenged.deviceId, status: "active", current: true }),
    });
    expect(Date.parse(body.device.verifiedAt)).toBeGreaterThanOrEqual(Date.parse(body.device.createdAt));
    expect(await deviceRow(challenged.deviceId)).toMatchObject({
      keyId: phone.key.keyId.toString("base64"),
      publicKey: new Uint8Array(phone.key.point),
      keyCounter: 0n,
    });
    const { devices } = await (await get("/api/push/devices", { token: account.token })).json();
    expect(devices).toEqual([body.device]);
    const where = { accountId: account.id, type: "device_verified" as const };
    expect(await ctx().db.auditEvent.findMany({ where })).toMatchObject([{ network: expect.stringMatching(/\/24$/) }]);
  });

  test("signs eight lines, with the hash of the token instead of the token", async () => {
    const { account, phone, challenged } = await challengedPhone({ environment: "sandbox" });
    const lines = [
      "push-register.v1",
      challenged.challengeId,
      challenged.challengeValue,
      challenged.pushNonce,
      "sandbox",
      "com.example.homeport",
      createHash("sha256").update(phone.token).digest("hex"),
      account.id,
    ];
    const evidence = signedByDeviceKey(account, phone, challenged);
    const signature = Buffer.from(evidence.signature, "base64");
    expect(verify("sha256", Buffer.from(lines.join("\n")), phone.key.publicKey, signature)).toBe(true);
    expect((await answer(account, phone, evidence)).status).toBe(200);
  });

  test("uses an assertion of the same key when its token has changed", async () => {
    const { account, phone, challenged, deviceId } = await challengedAgain();
    const response = await answer(account, phone, asserted(account, phone, challenged, 1));
    expect(await response.json()).toMatchObject({ device: { id: deviceId, status: "active" } });
    const devices = await ctx().db.pushDevice.findMany({ where: { accountId: account.id } });
    expect(devices).toMatchObject([{ id: deviceId, status: "active", token: phone.token, keyCounter: 1n }]);
  });

  test("keeps its queued notifications when its token has changed", async () => {
    const { account, phone, challenged, deviceId } = await challengedAgain();
    await sendMessage(ctx(), OPERATOR, { kind: "custom", to: { account: account.id }, title: "A", body: "B" });
    expect((await answer(account, phone, asserted(account, phone, challenged, 1))).status).toBe(200);
    const { push, sent } = recordingPush();
    await requeueReceipts(deviceId);
    await deliverDue({ push });
    expect(sent).toMatchObject([{ token: phone.token }]);
  });

  test.each<["production" | "sandbox", (...asked: Parameters<typeof signedByDeviceKey>) => object]>([
    ["production", attested],
    ["sandbox", signedByDeviceKey],
  ])("in %s with a new key is a new device, whatever its installation id", async (environment, sign) => {
    const { account, phone, challenged, deviceId } = await challengedAgain({ environment });
    const restored = { ...phone, key: newAttestKey() };
    expect((await answer(account, restored, sign(account, restored, challenged))).status).toBe(200);
    expect(await deviceRow(challenged.deviceId)).toMatchObject({ keyId: restored.key.keyId.toString("base64") });
    expect(await deviceRow(deviceId)).toMatchObject({ status: "active" });
  });

  test("of a known installation replaces the previous device beyond the limit", async () => {
    const { account, phone, challenged, deviceId } = await challengedAgain();
    await activeDevices(account, 19);
    const again = { ...phone, token: newToken(), key: newAttestKey() };
    const latest = await challenge(account, again);
    expect(latest.deviceId).toBe(challenged.deviceId);
    expect((await answer(account, again, attested(account, again, latest))).status).toBe(200);
    const devices = await ctx().db.pushDevice.findMany({ where: { accountId: account.id } });
    expect(devices).toHaveLength(20);
    expect(devices.map(({ id }) => id)).not.toContain(deviceId);
  });

  test("beyond the limit is rejected if no other device has its installation id", async () => {
    const { account, phone, challenged, deviceId } = await challengedAgain();
    await activeDevices(account, 19);
    await ctx().db.pushDevice.update({ where: { id: deviceId }, data: { installationId: randomUUID() } });
    const other = { ...phone, key: newAttestKey() };
    const response = await answer(account, other, attested(account, other, challenged));
    expect(await response.json()).toMatchObject({ status: 409, code: "device_limit_reached" });
    expect(await ctx().db.pushDevice.count({ where: { accountId: account.id, status: "active" } })).toBe(20);
  });

  test("can be a simulator, whose device key is pinned", async () => {
    const { account, phone, challenged } = await challengedPhone({ environment: "sandbox" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
    await ctx().db.pushDevice.update({ where: { id: challenged.deviceId }, data: { status: "invalid" } });
    const again = await challenge(account, phone);
    const other = { ...phone, key: newAttestKey() };
    await expectInvalid(await answer(account, other, signedByDeviceKey(account, other, again)), "key_unknown");
    expect((await answer(account, phone, signedByDeviceKey(account, phone, again))).status).toBe(200);
  });

  test("updates its details, as with any registration", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const { token, installationId } = phone;
    const evidence = attested(account, phone, challenged);
    const json = { token: token.toUpperCase(), installationId, device: { name: "Ann's" }, evidence };
    const response = await post("/api/push/register", json, { token: account.token });
    expect(await response.json()).toMatchObject({ device: { status: "active", name: "Ann's" } });
  });
});

test("without a team ID App Attest is not configured, and simulators still work", async () => {
  await withContext({ config: { APNS_TEAM_ID: undefined } }, async () => {
    const { account, phone, challenged } = await challengedPhone({ environment: "sandbox" });
    const response = await answer(account, phone, attested(account, phone, challenged));
    expect(await response.json()).toMatchObject({ status: 503, code: "push_not_configured" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
  });
});

test("evidence of another root than Apple's is invalid unless that root is configured", async () => {
  await withContext({ config: { APP_ATTEST_ROOT_CA: undefined } }, async () => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(await answer(account, phone, attested(account, phone, challenged)), "certificate_untrusted");
  });
});
