import { createHash, randomBytes, randomUUID, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newAttestKey } from "@/dev/app-attest/app-attest";
import { sendCustomNotification } from "@/lib/admin/push/notify";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { get, post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { requeueReceipts } from "@/tests/support/push/deliveries";
import {
  answer,
  asserted,
  attested,
  challenge,
  decidingTogether,
  newPhone,
  signedByDeviceKey,
  verifiedDevice,
} from "@/tests/support/push/phone";
import { activeDevices, deliverDue, deviceRow, newToken, recordingPush } from "@/tests/support/push/push";

const MINUTE_MS = 60 * 1000;
const BUNDLES = ["com.example.homeport", "com.example.other"];

async function refused(response: Response, reason: string) {
  expect(await response.json()).toMatchObject({ status: 422, code: "evidence_invalid", reason });
}

/** An account whose phone was asked to prove itself. */
async function asked(change = {}) {
  const account = await newAccount();
  const phone = newPhone(change);
  return { account, phone, challenged: await challenge(account, phone) };
}

/** An account whose phone, the device of `deviceId`, has proved itself and was asked again, since its token changed. */
async function askedAgain(change = {}) {
  const account = await newAccount();
  const first = newPhone(change);
  const { id: deviceId } = await verifiedDevice(account, first);
  const phone = { ...first, token: newToken() };
  return { account, phone, deviceId, challenged: await challenge(account, phone) };
}

describe("a device with evidence", () => {
  test("becomes active with an attestation", async () => {
    const { account, phone, challenged } = await asked();
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
  });

  test("is recorded as a security event with its caller", async () => {
    const { account, phone, challenged } = await asked();
    await answer(account, phone, attested(account, phone, challenged));
    const where = { accountId: account.id, type: "device_verified" as const };
    expect(await ctx().db.securityEvent.findMany({ where })).toMatchObject([
      { network: expect.stringMatching(/\/24$/) },
    ]);
  });

  test("signs eight lines, with the hash of the token instead of the token", async () => {
    const { account, phone, challenged } = await asked({ environment: "sandbox" });
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
    const { account, phone, challenged, deviceId } = await askedAgain();
    const response = await answer(account, phone, asserted(account, phone, challenged, 1));
    expect(await response.json()).toMatchObject({ device: { id: deviceId, status: "active" } });
    const devices = await ctx().db.pushDevice.findMany({ where: { accountId: account.id } });
    expect(devices).toMatchObject([{ id: deviceId, status: "active", token: phone.token, keyCounter: 1n }]);
  });

  test("keeps its queued notifications when its token has changed", async () => {
    const { account, phone, challenged, deviceId } = await askedAgain();
    await sendCustomNotification(ctx(), { accountId: account.id, title: "A", body: "B", link: null });
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
    const { account, phone, challenged, deviceId } = await askedAgain({ environment });
    const restored = { ...phone, key: newAttestKey() };
    expect((await answer(account, restored, sign(account, restored, challenged))).status).toBe(200);
    expect(await deviceRow(challenged.deviceId)).toMatchObject({ keyId: restored.key.keyId.toString("base64") });
    expect(await deviceRow(deviceId)).toMatchObject({ status: "active" });
  });

  test("of a known installation replaces the previous device beyond the limit", async () => {
    const { account, phone, challenged, deviceId } = await askedAgain();
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
    const { account, phone, challenged, deviceId } = await askedAgain();
    await activeDevices(account, 19);
    await ctx().db.pushDevice.update({ where: { id: deviceId }, data: { installationId: randomUUID() } });
    const other = { ...phone, key: newAttestKey() };
    const response = await answer(account, other, attested(account, other, challenged));
    expect(await response.json()).toMatchObject({ status: 409, code: "device_limit_reached" });
    expect(await ctx().db.pushDevice.count({ where: { accountId: account.id, status: "active" } })).toBe(20);
  });

  test("can be a simulator, whose device key is pinned", async () => {
    const { account, phone, challenged } = await asked({ environment: "sandbox" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
    await ctx().db.pushDevice.update({ where: { id: challenged.deviceId }, data: { status: "invalid" } });
    const again = await challenge(account, phone);
    const other = { ...phone, key: newAttestKey() };
    await refused(await answer(account, other, signedByDeviceKey(account, other, again)), "key_unknown");
    expect((await answer(account, phone, signedByDeviceKey(account, phone, again))).status).toBe(200);
  });

  test("updates its details, as with any registration", async () => {
    const { account, phone, challenged } = await asked();
    const { token, installationId } = phone;
    const evidence = attested(account, phone, challenged);
    const json = { token: token.toUpperCase(), installationId, device: { name: "Ann's" }, evidence };
    const response = await post("/api/push/register", json, { token: account.token });
    expect(await response.json()).toMatchObject({ device: { status: "active", name: "Ann's" } });
  });
});

describe("evidence for another purpose", () => {
  test.each([
    ["another token", { token: newToken() }],
    ["another environment", { environment: "sandbox" as const }],
    ["another bundle", { bundleId: "com.example.other" }],
    ["another installation", { installationId: randomUUID() }],
  ])("registered with %s is invalid for the challenge of that device", async (_, change) => {
    await withContext({ config: { APNS_BUNDLE_IDS: BUNDLES } }, async () => {
      const { account, phone, challenged } = await asked();
      const evidence = attested(account, phone, challenged);
      await refused(await answer(account, { ...phone, ...change }, evidence), "challenge_unknown");
      expect(await ctx().db.pushDevice.findMany({ where: { accountId: account.id } })).toMatchObject([
        { id: challenged.deviceId, token: phone.token, status: "pending" },
      ]);
    });
  });

  test.each<[string, object, string]>([
    ["another token", { token: newToken() }, "nonce_mismatch"],
    ["another bundle", { bundleId: "com.example.other" }, "nonce_mismatch"],
    ["another environment", { environment: "sandbox" }, "nonce_mismatch"],
  ])("signed for %s is invalid", async (_, change, reason) => {
    const { account, phone, challenged } = await asked();
    await refused(await answer(account, phone, attested(account, { ...phone, ...change }, challenged)), reason);
  });

  test("signed for another account is invalid", async () => {
    const { account, phone, challenged } = await asked();
    await refused(await answer(account, phone, attested({ id: randomUUID() }, phone, challenged)), "nonce_mismatch");
  });

  test("signed for another challenge is invalid", async () => {
    const { account, phone, challenged } = await asked();
    const other = await challenge(account, phone);
    const evidence = { ...attested(account, phone, other), ...{ challengeId: challenged.challengeId } };
    await refused(await answer(account, phone, { ...evidence, pushNonce: challenged.pushNonce }), "nonce_mismatch");
  });

  test("presented by another account is invalid for that account's challenges", async () => {
    const { account, phone, challenged } = await asked();
    const thief = await newAccount();
    const evidence = attested(account, phone, challenged);
    await refused(await answer(thief, phone, evidence), "challenge_unknown");
    await challenge(thief, phone);
    await refused(await answer(thief, phone, evidence), "challenge_unknown");
  });

  test("without the nonce from APNs is invalid, even with the challenge's value", async () => {
    const { account, phone, challenged } = await asked();
    const guessed = { ...challenged, pushNonce: randomBytes(32).toString("base64url") };
    await refused(await answer(account, phone, attested(account, phone, guessed)), "push_nonce_mismatch");
  });

  test("for an unknown challenge is invalid", async () => {
    const { account, phone, challenged } = await asked();
    const evidence = attested(account, phone, { ...challenged, challengeId: randomUUID() });
    await refused(await answer(account, phone, evidence), "challenge_unknown");
  });

  test("that is invalid leaves the device pending and the challenge open", async () => {
    const { account, phone, challenged } = await asked();
    await refused(
      await answer(account, phone, attested(account, phone, challenged, { counter: 1 })),
      "counter_not_zero",
    );
    expect((await deviceRow(challenged.deviceId)).status).toBe("pending");
    expect((await answer(account, phone, attested(account, phone, challenged))).status).toBe(200);
  });

  test("does not activate a device that became invalid meanwhile", async () => {
    const { account, phone, challenged } = await asked();
    await ctx().db.pushDevice.update({ where: { id: challenged.deviceId }, data: { status: "invalid" } });
    await refused(await answer(account, phone, attested(account, phone, challenged)), "challenge_unknown");
    expect((await deviceRow(challenged.deviceId)).status).toBe("invalid");
    expect((await verifiedDevice(account, phone)).status).toBe("active");
  });
});

describe("a challenge", () => {
  const status = async (response: Response) => ({ status: response.status, code: (await response.json()).code });

  test("expires after 15 minutes", async () => {
    const { account, phone, challenged } = await asked();
    const evidence = attested(account, phone, challenged);
    clock.advance(15 * MINUTE_MS);
    expect(await status(await answer(account, phone, evidence))).toEqual({ status: 409, code: "challenge_expired" });
    expect((await deviceRow(challenged.deviceId)).status).toBe("pending");
  });

  test("is valid for almost 15 minutes", async () => {
    const { account, phone, challenged } = await asked();
    clock.advance(14 * MINUTE_MS);
    expect((await answer(account, phone, attested(account, phone, challenged))).status).toBe(200);
  });

  test("can be used once", async () => {
    const { account, phone, challenged } = await asked();
    const evidence = attested(account, phone, challenged);
    expect((await answer(account, phone, evidence)).status).toBe(200);
    expect(await status(await answer(account, phone, evidence))).toEqual({ status: 409, code: "challenge_used" });
    expect((await deviceRow(challenged.deviceId)).status).toBe("active");
  });

  test("succeeds once among concurrent uses", async () => {
    const { account, phone, challenged } = await asked();
    const evidence = attested(account, phone, challenged);
    const responses = await withContext({ db: decidingTogether(5) }, () =>
      Promise.all([1, 2, 3, 4, 5].map(() => answer(account, phone, evidence))),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, 409, 409, 409, 409]);
    const where = { accountId: account.id, type: "device_verified" as const };
    expect(await ctx().db.securityEvent.count({ where })).toBe(1);
  });

  test("ends when its device changes its token", async () => {
    const { account, phone, challenged } = await asked();
    await challenge(account, { ...phone, token: newToken() });
    const back = { ...phone };
    await challenge(account, back);
    await refused(await answer(account, back, attested(account, back, challenged)), "challenge_unknown");
  });
});

describe("an assertion", () => {
  test("of a key that was never attested is rejected", async () => {
    const { account, phone, challenged } = await asked();
    await refused(await answer(account, phone, asserted(account, phone, challenged, 1)), "key_unknown");
  });

  test("of a key that is not the device's is rejected", async () => {
    const { account, phone, challenged } = await askedAgain();
    const other = { ...phone, key: newAttestKey() };
    await refused(await answer(account, other, asserted(account, other, challenged, 1)), "key_unknown");
    const claimed = { ...asserted(account, other, challenged, 1), keyId: phone.key.keyId.toString("base64") };
    await refused(await answer(account, phone, claimed), "signature_invalid");
  });

  test("with a repeated counter is rejected", async () => {
    const { account, phone, challenged } = await askedAgain();
    expect((await answer(account, phone, asserted(account, phone, challenged, 5))).status).toBe(200);
    const moved = { ...phone, token: newToken() };
    const again = await challenge(account, moved);
    for (const counter of [5, 4, 0]) {
      await refused(await answer(account, moved, asserted(account, moved, again, counter)), "counter_replayed");
    }
    expect((await answer(account, moved, asserted(account, moved, again, 6))).status).toBe(200);
  });

  test("succeeds once among two with the same counter, for two concurrent challenges", async () => {
    const { account, phone, challenged, deviceId } = await askedAgain();
    const second = await challenge(account, phone);
    const responses = await withContext({ db: decidingTogether(2) }, () =>
      Promise.all([challenged, second].map((one) => answer(account, phone, asserted(account, phone, one, 1)))),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, 422]);
    expect(await deviceRow(deviceId)).toMatchObject({ status: "active", keyCounter: 1n });
  });

  test("of a key attested for another environment or bundle is rejected", async () => {
    await withContext({ config: { APNS_BUNDLE_IDS: BUNDLES } }, async () => {
      const account = await newAccount();
      const phone = newPhone({ environment: "sandbox" });
      await verifiedDevice(account, phone);
      for (const change of [{ environment: "production" as const }, { bundleId: "com.example.other" }]) {
        const moved = { ...phone, ...change };
        const again = await challenge(account, moved);
        await refused(await answer(account, moved, asserted(account, moved, again, 9)), "key_unknown");
      }
    });
  });

  test("of a simulator's device key is rejected", async () => {
    const { account, phone, challenged } = await asked({ environment: "sandbox" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
    const moved = { ...phone, token: newToken() };
    const again = await challenge(account, moved);
    await refused(await answer(account, moved, asserted(account, moved, again, 1)), "key_unknown");
  });
});

describe("a device key", () => {
  test("is rejected in production", async () => {
    const { account, phone, challenged } = await asked();
    await refused(await answer(account, phone, signedByDeviceKey(account, phone, challenged)), "device_key_refused");
  });

  test("does not replace an attested key", async () => {
    const account = await newAccount();
    const phone = newPhone({ environment: "sandbox" });
    const { id } = await verifiedDevice(account, phone);
    await ctx().db.pushDevice.update({ where: { id }, data: { status: "invalid" } });
    const challenged = await challenge(account, phone);
    const other = { ...phone, key: newAttestKey() };
    await refused(await answer(account, other, signedByDeviceKey(account, other, challenged)), "key_unknown");
  });

  test("must be a point on the curve with a valid signature", async () => {
    const { account, phone, challenged } = await asked({ environment: "sandbox" });
    const evidence = signedByDeviceKey(account, phone, challenged);
    const off = Buffer.concat([Buffer.of(4), randomBytes(64)]).toString("base64");
    await refused(await answer(account, phone, { ...evidence, publicKey: off }), "signature_invalid");
    const signature = Buffer.from("no signature").toString("base64");
    await refused(await answer(account, phone, { ...evidence, signature }), "signature_invalid");
    await refused(await answer(account, phone, { ...evidence, signature: "" }), "signature_invalid");
  });
});

describe("malformed evidence", () => {
  const base = () => ({
    ...{ type: "app_attest", challengeId: randomUUID(), pushNonce: randomBytes(32).toString("base64url") },
    keyId: randomBytes(32).toString("base64"),
  });
  const validation = async (account: TestAccount, evidence: unknown, pointer: string) => {
    const response = await answer(account, newPhone(), evidence);
    expect(await response.json()).toMatchObject({ status: 422, code: "validation_failed", errors: [{ pointer }] });
  };

  test.each<[string, object, string]>([
    ["neither attestation nor assertion", {}, "/evidence"],
    ["both", { attestation: "AAAA", assertion: "AAAA" }, "/evidence"],
    ["an attestation over 16 KiB", { attestation: "A".repeat(16 * 1024 + 4) }, "/evidence/attestation"],
    ["an assertion over 4 KiB", { assertion: "A".repeat(4 * 1024 + 4) }, "/evidence/assertion"],
    ["an attestation that is not base64", { attestation: "*" }, "/evidence/attestation"],
    ["a key id of 31 bytes", { attestation: "AAAA", keyId: randomBytes(31).toString("base64") }, "/evidence/keyId"],
    ["a challenge id that is no UUID", { attestation: "AAAA", challengeId: "1" }, "/evidence/challengeId"],
    ["a nonce of 31 bytes", { attestation: "AAAA", pushNonce: "A".repeat(42) }, "/evidence/pushNonce"],
    ["a nonce that is not base64url", { attestation: "AAAA", pushNonce: "+".repeat(43) }, "/evidence/pushNonce"],
    ["a type that there is not", { attestation: "AAAA", type: "safety_net" }, "/evidence/type"],
  ])("with %s is 422", async (_, change, pointer) => {
    await validation(await newAccount(), { ...base(), ...change }, pointer);
  });

  test("that is a string, null or an array is 422", async () => {
    const account = await newAccount();
    for (const evidence of ["app_attest", null, []]) await validation(account, evidence, "/evidence");
  });

  test("of random bytes is invalid and never a server error", async () => {
    const { account, phone, challenged } = await asked();
    const genuine = attested(account, phone, challenged);
    const bytes = Buffer.from(genuine.attestation, "base64");
    const noises = [Buffer.alloc(0), randomBytes(12_000), Buffer.alloc(12_000, 0x81), Buffer.alloc(12_000, 0x9f)];
    for (let end = 1; end < bytes.length; end += 97)
      noises.push(Buffer.concat([bytes.subarray(0, end), randomBytes(64)]));
    for (const noise of noises) {
      const evidence = { ...genuine, attestation: noise.toString("base64") };
      const ctxWithout = { limits: { ...ctx().limits, consume: async () => {} } };
      await refused(await withContext(ctxWithout, () => answer(account, phone, evidence)), "malformed");
    }
  });
});

test("without a team ID App Attest is not configured, and simulators still work", async () => {
  await withContext({ config: { APNS_TEAM_ID: undefined } }, async () => {
    const { account, phone, challenged } = await asked({ environment: "sandbox" });
    const response = await answer(account, phone, attested(account, phone, challenged));
    expect(await response.json()).toMatchObject({ status: 503, code: "push_not_configured" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
  });
});

test("evidence of another root than Apple's is invalid unless that root is configured", async () => {
  await withContext({ config: { APP_ATTEST_ROOT_CA: undefined } }, async () => {
    const { account, phone, challenged } = await asked();
    await refused(await answer(account, phone, attested(account, phone, challenged)), "certificate_untrusted");
  });
});
