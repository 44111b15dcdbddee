import { createHash, randomUUID, sign } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { vi } from "vitest";
import type { Context } from "@/lib/context";
import { buildClientData } from "@/lib/push/evidence/verify";
import type { TestAccount } from "@/tests/support/accounts";
import { ctx } from "@/tests/support/context";
import {
  type AttestKey,
  type Forgery,
  mintAssertion,
  mintAttestation,
  newAttestKey,
  TEAM_ID,
} from "../../../dev/app-attest/app-attest";
import { deliveriesOf } from "./deliveries";
import { BUNDLE_ID, newToken, registeredDevice, registerPush } from "./push";

/** An iPhone with the app on it: what it registers as, and the key that it answers with. */
export type Phone = {
  token: string;
  installationId: string;
  environment: "production" | "sandbox";
  bundleId: string;
  key: AttestKey;
};

/** A challenge as it arrived on a phone, by both its ways. */
export type Challenged = { deviceId: string; challengeId: string; challengeValue: string; pushNonce: string };

export const newPhone = (change: Partial<Phone> = {}): Phone => ({
  token: newToken(),
  installationId: randomUUID(),
  environment: "production",
  bundleId: BUNDLE_ID,
  key: newAttestKey(),
  ...change,
});

/** Registers a phone, and waits for the nonce. One at a time: a registration cancels what is queued (`clearOutbox`). */
export async function challenge(account: TestAccount, phone: Phone): Promise<Challenged> {
  const { device, challenge } = await registeredDevice(account, addressOf(phone));
  if (!challenge) throw new Error(`the device is ${device.status} and got no challenge`);
  const { id: challengeId, value: challengeValue } = challenge;
  return { deviceId: device.id, challengeId, challengeValue, pushNonce: await pushNonceOf(challengeId) };
}

/** Registers again with evidence. */
export const answer = (account: Pick<TestAccount, "token">, phone: Phone, evidence: unknown): Promise<Response> =>
  registerPush(account, { ...addressOf(phone), evidence });

/** Registers a phone, attests its key and returns the active device. */
export async function verifiedDevice(account: TestAccount, phone: Phone) {
  const response = await answer(account, phone, attested(account, phone, await challenge(account, phone)));
  if (response.status !== 200) throw new Error(`evidence answered ${response.status}: ${await response.text()}`);
  const { device } = (await response.json()) as { device: { id: string; status: string; verifiedAt: string } };
  return device;
}

/** The evidence of a key's first use. */
export function attested(account: Pick<TestAccount, "id">, phone: Phone, asked: Challenged, forgery?: Forgery) {
  const { key, environment } = phone;
  const attestation = mintAttestation({ ...signedParts(account, phone, asked), environment }, forgery);
  return { ...appAttest(key, asked), attestation: attestation.toString("base64") };
}

/** The evidence of every later use. */
export function asserted(account: Pick<TestAccount, "id">, phone: Phone, asked: Challenged, counter: number) {
  const assertion = mintAssertion(signedParts(account, phone, asked), counter);
  return { ...appAttest(phone.key, asked), assertion: assertion.toString("base64") };
}

/** The evidence of a simulator. */
export function signedByDeviceKey(account: Pick<TestAccount, "id">, phone: Phone, asked: Challenged) {
  const signature = sign("sha256", clientData(account, phone, asked), phone.key.privateKey);
  const { challengeId, pushNonce } = asked;
  return {
    type: "device_key" as const,
    challengeId,
    pushNonce,
    publicKey: phone.key.point.toString("base64"),
    signature: signature.toString("base64"),
  };
}

/** The database, through which so many pieces of evidence are all read before one of them is decided. */
export function decidingTogether(count: number): Context["db"] {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const findFirst = async <A, R>({ args, query }: { args: A; query: (args: A) => Promise<R> }): Promise<R> => {
    const row = await query(args);
    count -= 1;
    if (count === 0) open();
    await gate;
    return row;
  };
  return ctx().db.$extends({ query: { pushChallenge: { findFirst } } }) as unknown as Context["db"];
}

function addressOf({ token, installationId, environment, bundleId }: Phone) {
  return { token, installationId, environment, bundleId };
}

function appAttest({ keyId }: AttestKey, { challengeId, pushNonce }: Challenged) {
  return { type: "app_attest", challengeId, pushNonce, keyId: keyId.toString("base64") };
}

function signedParts(account: Pick<TestAccount, "id">, phone: Phone, asked: Challenged) {
  const clientDataHash = createHash("sha256")
    .update(clientData(account, phone, asked))
    .digest();
  return { key: phone.key, clientDataHash, appId: `${TEAM_ID}.${phone.bundleId}` };
}

function clientData({ id: accountId }: Pick<TestAccount, "id">, phone: Phone, asked: Challenged): Buffer {
  return buildClientData({ ...phone, ...asked, accountId });
}

/** The nonce as it went out: into a file, where push is not configured. */
async function pushNonceOf(challengeId: string): Promise<string> {
  const eventKey = `challenge:${challengeId}`;
  const [{ id } = { id: "" }] = await deliveriesOf({ eventKey });
  const folder = path.join(ctx().config.DATA_DIR, "outbox");
  return vi.waitFor(
    async () => {
      const name = (await readdir(folder)).find((file) => file.endsWith(`${id}.push.json`));
      return JSON.parse(await readFile(path.join(folder, `${name}`), "utf8")).payload.data.nonce as string;
    },
    { timeout: 20_000, interval: 20 },
  );
}
