import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { clock, ctx, withContext } from "@/tests/support/context";
import { challengedPhone, expectInvalid } from "@/tests/support/push/evidence";
import { answer, attested, challenge, decidingTogether, verifiedDevice } from "@/tests/support/push/phone";
import { deviceRow, newToken } from "@/tests/support/push/push";

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

  test.each<[string, object, string]>([
    ["another token", { token: newToken() }, "nonce_mismatch"],
    ["another bundle", { bundleId: "com.example.other" }, "nonce_mismatch"],
    ["another environment", { environment: "sandbox" }, "nonce_mismatch"],
  ])("signed for %s is invalid", async (_, change, reason) => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(await answer(account, phone, attested(account, { ...phone, ...change }, challenged)), reason);
  });

  test("signed for another account is invalid", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(
      await answer(account, phone, attested({ id: randomUUID() }, phone, challenged)),
      "nonce_mismatch",
    );
  });

  test("signed for another challenge is invalid", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const other = await challenge(account, phone);
    const evidence = { ...attested(account, phone, other), challengeId: challenged.challengeId };
    await expectInvalid(
      await answer(account, phone, { ...evidence, pushNonce: challenged.pushNonce }),
      "nonce_mismatch",
    );
  });

  test("presented by another account is invalid for that account's challenges", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const thief = await newAccount();
    const evidence = attested(account, phone, challenged);
    await expectInvalid(await answer(thief, phone, evidence), "challenge_unknown");
    await challenge(thief, phone);
    await expectInvalid(await answer(thief, phone, evidence), "challenge_unknown");
  });

  test("without the nonce from APNs is invalid, even with the challenge's value", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const guessed = { ...challenged, pushNonce: randomBytes(32).toString("base64url") };
    await expectInvalid(await answer(account, phone, attested(account, phone, guessed)), "push_nonce_mismatch");
  });

  test("for an unknown challenge is invalid", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const evidence = attested(account, phone, { ...challenged, challengeId: randomUUID() });
    await expectInvalid(await answer(account, phone, evidence), "challenge_unknown");
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

  test("is valid for almost 15 minutes", async () => {
    const { account, phone, challenged } = await challengedPhone();
    clock.advance(14 * MINUTE_MS);
    expect((await answer(account, phone, attested(account, phone, challenged))).status).toBe(200);
  });

  test("can be used once", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const evidence = attested(account, phone, challenged);
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
