import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { newAttestKey } from "@/dev/app-attest/app-attest";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { ctx, withContext } from "@/tests/support/context";
import { challengedAgain, challengedPhone, expectInvalid } from "@/tests/support/push/evidence";
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
import { deviceRow, newToken } from "@/tests/support/push/push";

const BUNDLES = ["com.example.homeport", "com.example.other"];

describe("an assertion", () => {
  test("of a key that was never attested is rejected", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(await answer(account, phone, asserted(account, phone, challenged, 1)), "key_unknown");
  });

  test("of a key that is not the device's is rejected", async () => {
    const { account, phone, challenged } = await challengedAgain();
    const other = { ...phone, key: newAttestKey() };
    await expectInvalid(await answer(account, other, asserted(account, other, challenged, 1)), "key_unknown");
    const claimed = { ...asserted(account, other, challenged, 1), keyId: phone.key.keyId.toString("base64") };
    await expectInvalid(await answer(account, phone, claimed), "signature_invalid");
  });

  test("with a repeated counter is rejected", async () => {
    const { account, phone, challenged } = await challengedAgain();
    expect((await answer(account, phone, asserted(account, phone, challenged, 5))).status).toBe(200);
    const moved = { ...phone, token: newToken() };
    const again = await challenge(account, moved);
    for (const counter of [5, 4, 0]) {
      await expectInvalid(await answer(account, moved, asserted(account, moved, again, counter)), "counter_replayed");
    }
    expect((await answer(account, moved, asserted(account, moved, again, 6))).status).toBe(200);
  });

  test("succeeds once among two with the same counter, for two concurrent challenges", async () => {
    const { account, phone, challenged, deviceId } = await challengedAgain();
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
        await expectInvalid(await answer(account, moved, asserted(account, moved, again, 9)), "key_unknown");
      }
    });
  });

  test("of a simulator's device key is rejected", async () => {
    const { account, phone, challenged } = await challengedPhone({ environment: "sandbox" });
    expect((await answer(account, phone, signedByDeviceKey(account, phone, challenged))).status).toBe(200);
    const moved = { ...phone, token: newToken() };
    const again = await challenge(account, moved);
    await expectInvalid(await answer(account, moved, asserted(account, moved, again, 1)), "key_unknown");
  });
});

describe("a device key", () => {
  test("is rejected in production", async () => {
    const { account, phone, challenged } = await challengedPhone();
    await expectInvalid(
      await answer(account, phone, signedByDeviceKey(account, phone, challenged)),
      "device_key_refused",
    );
  });

  test("does not replace an attested key", async () => {
    const account = await newAccount();
    const phone = newPhone({ environment: "sandbox" });
    const { id } = await verifiedDevice(account, phone);
    await ctx().db.pushDevice.update({ where: { id }, data: { status: "invalid" } });
    const challenged = await challenge(account, phone);
    const other = { ...phone, key: newAttestKey() };
    await expectInvalid(await answer(account, other, signedByDeviceKey(account, other, challenged)), "key_unknown");
  });

  test("must be a point on the curve with a valid signature", async () => {
    const { account, phone, challenged } = await challengedPhone({ environment: "sandbox" });
    const evidence = signedByDeviceKey(account, phone, challenged);
    const off = Buffer.concat([Buffer.of(4), randomBytes(64)]).toString("base64");
    await expectInvalid(await answer(account, phone, { ...evidence, publicKey: off }), "signature_invalid");
    const signature = Buffer.from("no signature").toString("base64");
    await expectInvalid(await answer(account, phone, { ...evidence, signature }), "signature_invalid");
    await expectInvalid(await answer(account, phone, { ...evidence, signature: "" }), "signature_invalid");
  });
});

describe("malformed evidence", () => {
  const base = () => ({
    type: "app_attest",
    challengeId: randomUUID(),
    pushNonce: randomBytes(32).toString("base64url"),
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

  // ASVS 1.5.2
  test("of random bytes is invalid and never a server error", async () => {
    const { account, phone, challenged } = await challengedPhone();
    const genuine = attested(account, phone, challenged);
    const bytes = Buffer.from(genuine.attestation, "base64");
    const noises = [Buffer.alloc(0), randomBytes(12_000), Buffer.alloc(12_000, 0x81), Buffer.alloc(12_000, 0x9f)];
    for (let end = 1; end < bytes.length; end += 97)
      noises.push(Buffer.concat([bytes.subarray(0, end), randomBytes(64)]));
    for (const noise of noises) {
      const evidence = { ...genuine, attestation: noise.toString("base64") };
      await expectInvalid(await answerWithoutLimit(account, phone, evidence), "malformed");
    }
  });
});

const answerWithoutLimit = (...given: Parameters<typeof answer>) =>
  withContext({ limits: { ...ctx().limits, consume: async () => {} } }, () => answer(...given));
