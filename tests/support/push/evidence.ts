import { expect } from "vitest";
import { newAccount } from "@/tests/support/accounts";
import { challenge, newPhone, verifiedDevice } from "@/tests/support/push/phone";
import { newToken } from "@/tests/support/push/push";

/** Expects evidence to be rejected for a reason. */
export async function expectInvalid(response: Response, reason: string) {
  expect(await response.json()).toMatchObject({ status: 422, code: "evidence_invalid", reason });
}

/** An account with a phone that has received a challenge. */
export async function challengedPhone(change = {}) {
  const account = await newAccount();
  const phone = newPhone(change);
  return { account, phone, challenged: await challenge(account, phone) };
}

/** An account with a verified phone, the device of `deviceId`, that has a new token and therefore a new challenge. */
export async function challengedAgain(change = {}) {
  const account = await newAccount();
  const first = newPhone(change);
  const { id: deviceId } = await verifiedDevice(account, first);
  const phone = { ...first, token: newToken() };
  return { account, phone, deviceId, challenged: await challenge(account, phone) };
}
