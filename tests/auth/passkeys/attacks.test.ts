import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { PasskeyAssertion, PasskeyRegistration } from "@/lib/auth/passkeys/schema";
import { removeExpiredRows } from "@/lib/auth/remove-expired-rows";
import { eventsOf, newAccount, requestReset } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import {
  ed25519Key,
  type Forgery,
  PasskeyAuthenticator,
  point,
  rsaKey,
} from "@/tests/support/auth/passkey-authenticator";
import { addPasskey, creationOptions, signInOptions, stepUpOptions } from "@/tests/support/auth/passkeys";
import { clock, ctx } from "@/tests/support/context";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** A passkey for tests that leave it as it is. */
let own: PasskeyAuthenticator;
beforeAll(async () => {
  own = (await addPasskey(await newAccount())).authenticator;
});

const signIn = (passkey: PasskeyAssertion) => post("/api/auth/passkeys/sign-in", { passkey });

const register = ({ token }: { token: string }, passkey: PasskeyRegistration) =>
  post("/api/auth/passkeys", { passkey }, { token });

/** The status of a response, and the reason of a refusal. */
async function outcomeOf(response: Response): Promise<[number, unknown]> {
  const { reason, code } = await response.json();
  return [response.status, reason ?? code];
}

describe("a sign-in is refused", () => {
  const forgeries: [what: string, forgery: Forgery, reason: string][] = [
    ["from another origin", { origin: "https://evil.example" }, "origin_not_allowed"],
    ["from an origin that begins like ours", { origin: "http://localhost:3000.evil.example" }, "origin_not_allowed"],
    ["from a frame of another site", { crossOrigin: true }, "origin_not_allowed"],
    ["for another RP ID", { rpId: "evil.example" }, "rp_id_mismatch"],
    ["without user verification", { isUserVerified: false }, "user_not_verified"],
    ["with a registration's type", { type: "webauthn.create" }, "type_mismatch"],
    ["with a challenge of its own", { challenge: "A".repeat(43) }, "challenge_invalid"],
    ["with a challenge that no database stores", { challenge: "\0" }, "malformed"],
    ["signed with another key", { privateKey }, "signature_invalid"],
    ["with another account's user handle", { userHandle: "AZjS9DwefBqbfl0vimtMEA" }, "user_handle_mismatch"],
    ["without a user handle", { userHandle: null }, "user_handle_mismatch"],
    [
      "by a passkey that was synced before",
      { isBackupEligible: false, isBackedUp: false },
      "backup_eligibility_changed",
    ],
    ["that is backed up but cannot be", { isBackupEligible: false, isBackedUp: true }, "malformed"],
  ];

  test.each(forgeries)("%s", async (_, forgery, reason) => {
    const passkey = own.get(await signInOptions(), forgery);
    expect(await outcomeOf(await signIn(passkey))).toEqual([422, reason]);
  });

  // ASVS 6.7.2
  test("with a challenge that was used, also by a failed attempt and by concurrent ones", async () => {
    const { authenticator } = await addPasskey(await newAccount());
    const options = await signInOptions();
    expect((await signIn(authenticator.get(options))).status).toBe(200);
    expect(await outcomeOf(await signIn(authenticator.get(options)))).toEqual([422, "challenge_invalid"]);
    const failed = await signInOptions();
    await signIn(authenticator.get(failed, { privateKey }));
    expect(await outcomeOf(await signIn(authenticator.get(failed)))).toEqual([422, "challenge_invalid"]);
    const raced = authenticator.get(await signInOptions());
    const statuses = (await Promise.all([signIn(raced), signIn(raced), signIn(raced)])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 422, 422]);
  });

  // ASVS 6.7.2
  test("five minutes after its challenge, which retention removes", async () => {
    const { authenticator } = await addPasskey(await newAccount());
    const options = await signInOptions();
    clock.advance(5 * 60_000);
    expect(await outcomeOf(await signIn(authenticator.get(options)))).toEqual([422, "challenge_invalid"]);
    clock.advance(1);
    await removeExpiredRows(ctx());
    expect(await ctx().db.passkeyChallenge.count({ where: { challenge: options.challenge } })).toBe(0);
  });

  test("with a challenge of another purpose", async () => {
    const account = await newAccount();
    const { authenticator } = await addPasskey(account);
    for (const { challenge } of [await stepUpOptions(account), await creationOptions(account)]) {
      const passkey = authenticator.get({ ...(await signInOptions()), challenge });
      expect(await outcomeOf(await signIn(passkey))).toEqual([422, "challenge_invalid"]);
    }
  });

  // ASVS 6.5.6
  test("by a removed passkey", async () => {
    const { authenticator, passkey } = await addPasskey(await newAccount());
    await ctx().db.passkey.delete({ where: { id: passkey.id } });
    const refused = await signIn(authenticator.get(await signInOptions()));
    expect(await outcomeOf(refused)).toEqual([422, "credential_unknown"]);
  });

  test("by a copy whose counter was used, which the audit trail says", async () => {
    const account = await newAccount();
    const { authenticator, passkey } = await addPasskey(account, new PasskeyAuthenticator({ hasCounter: true }));
    expect((await signIn(authenticator.get(await signInOptions(), { counter: 7 }))).status).toBe(200);
    for (const counter of [7, 6, 0]) {
      const copied = authenticator.get(await signInOptions(), { counter });
      expect(await outcomeOf(await signIn(copied))).toEqual([422, "counter_replayed"]);
    }
    expect((await eventsOf(account.id)).slice(-3)).toEqual(Array(3).fill("passkey_copied"));
    const { details } = await ctx().db.auditEvent.findFirstOrThrow({
      where: { type: "passkey_copied", accountId: account.id },
    });
    expect(details).toMatchObject({ passkeyId: passkey.id, reason: "counter_replayed" });
    expect((await signIn(authenticator.get(await signInOptions(), { counter: 2 ** 32 - 1 }))).status).toBe(200);
  });

  test("and recorded in the account's audit trail", async () => {
    const account = await newAccount();
    const { authenticator } = await addPasskey(account);
    await signIn(authenticator.get(await signInOptions(), { privateKey }));
    expect((await eventsOf(account.id)).at(-1)).toBe("passkey_refused");
  });

  test("after 60 failures of one client in 15 minutes", async () => {
    const { authenticator } = await addPasskey(await newAccount());
    const ip = "203.0.113.77";
    const attempt = async (forgery: Forgery) => {
      const passkey = authenticator.get(await signInOptions(), forgery);
      return (await post("/api/auth/passkeys/sign-in", { passkey }, { ip })).status;
    };
    expect(await attempt({})).toBe(200);
    const unknown = authenticator.get(await signInOptions(), { challenge: "A".repeat(43) });
    for (let i = 0; i < 60; i++) await post("/api/auth/passkeys/sign-in", { passkey: unknown }, { ip });
    expect(await attempt({})).toBe(429);
  });
});

describe("a registration is refused", () => {
  const forgeries: [what: string, forgery: Forgery, reason: string][] = [
    ["from another origin", { origin: "https://evil.example" }, "origin_not_allowed"],
    ["for another RP ID", { rpId: "evil.example" }, "rp_id_mismatch"],
    ["without user verification", { isUserVerified: false }, "user_not_verified"],
    ["with an assertion's type", { type: "webauthn.get" }, "type_mismatch"],
    ["with a challenge of its own", { challenge: "A".repeat(43) }, "challenge_invalid"],
    ["with an algorithm that was not offered", { coseKey: [[3, -8]] }, "malformed"],
    ["with the point (0,0)", { coseKey: point(0) }, "malformed"],
    ["with a point that is not on the curve", { coseKey: point(1) }, "malformed"],
    ["with a point of another curve", { coseKey: [[-1, 2]] }, "malformed"],
    ["with an Ed25519 key for ES256", { coseKey: ed25519Key() }, "malformed"],
    ["with an elliptic key for RS256", { coseKey: [[3, -257]] }, "malformed"],
    ["with an RSA key of 1,024 bits", { coseKey: rsaKey(1_024) }, "malformed"],
    ["with an RSA key whose exponent is 1", { coseKey: rsaKey(2_048, Buffer.of(1)) }, "malformed"],
    ["with an RSA key whose modulus is zero", { coseKey: [...rsaKey(2_048), [-1, Buffer.alloc(256)]] }, "malformed"],
  ];

  test.each(forgeries)("%s", async (_, forgery, reason) => {
    const account = await newAccount();
    const passkey = new PasskeyAuthenticator().create(await creationOptions(account), forgery);
    expect(await outcomeOf(await register(account, passkey))).toEqual([422, reason]);
  });

  test("but not with an RSA key of 2,048 bits", async () => {
    const account = await newAccount();
    const passkey = new PasskeyAuthenticator().create(await creationOptions(account), { coseKey: rsaKey(2_048) });
    expect((await register(account, passkey)).status).toBe(201);
  });

  test("with the challenge of another account, or of another purpose", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    await addPasskey(bob);
    const options = await creationOptions(ann);
    for (const { challenge } of [options, await stepUpOptions(bob), await signInOptions()]) {
      const passkey = new PasskeyAuthenticator().create({ ...options, challenge });
      expect(await outcomeOf(await register(bob, passkey))).toEqual([422, "challenge_invalid"]);
    }
  });

  test("of a passkey that this or another account has, also by concurrent requests", async () => {
    const [ann, bob] = [await newAccount(), await newAccount()];
    /** The same credential, over other options. */
    class Copy extends PasskeyAuthenticator {
      again(challenge: string, first: PasskeyRegistration): PasskeyRegistration {
        const clientData = JSON.parse(Buffer.from(first.response.clientDataJSON, "base64url").toString());
        const clientDataJSON = Buffer.from(JSON.stringify({ ...clientData, challenge })).toString("base64url");
        return { ...first, response: { ...first.response, clientDataJSON } };
      }
    }
    const copy = new Copy();
    const [one, two, three] = [await creationOptions(ann), await creationOptions(ann), await creationOptions(bob)];
    const first = copy.create(one);
    const statuses = await Promise.all([
      register(ann, first),
      register(ann, copy.again(two.challenge, first)),
      register(bob, copy.again(three.challenge, first)),
    ]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const later = await register(bob, copy.again((await creationOptions(bob)).challenge, first));
    expect(await outcomeOf(later)).toEqual([409, "passkey_registered"]);
  });
});

test("an attestation that the client sends anyway is ignored, whatever it says", async () => {
  const account = await newAccount();
  const forgery = { fmt: "packed", attStmt: { alg: -7, sig: Buffer.alloc(70), x5c: [Buffer.from("no certificate")] } };
  const authenticator = new PasskeyAuthenticator();
  const passkey = authenticator.create(await creationOptions(account), forgery);
  expect((await register(account, passkey)).status).toBe(201);
  expect((await signIn(authenticator.get(await signInOptions()))).status).toBe(200);
});

describe("malformed input is refused with 422", () => {
  const deep = Buffer.alloc(8000, 0x81).toString("base64url");
  const long = Buffer.from("5affffffff", "hex").toString("base64url");
  const objects = ["AA", "_w", "oA", "9g", deep, long, Buffer.from("hello").toString("base64url"), "A".repeat(12_001)];

  test.each(objects)("as the attestation object %#", async (attestationObject) => {
    const account = await newAccount();
    const given = new PasskeyAuthenticator().create(await creationOptions(account));
    const response = await register(account, { ...given, response: { ...given.response, attestationObject } });
    expect(response.status).toBe(422);
  });

  test.each([16, 36, 38, 54, 60, 100])("as %i bytes of the authenticator data", async (length) => {
    const given = own.get(await signInOptions());
    const bytes = Buffer.concat([Buffer.from(given.response.authenticatorData, "base64url"), Buffer.alloc(100, 0xff)]);
    const authenticatorData = bytes.subarray(0, length).toString("base64url");
    expect((await signIn({ ...given, response: { ...given.response, authenticatorData } })).status).toBe(422);
  });

  const changes: [what: string, change: (given: PasskeyAssertion) => unknown][] = [
    ["nothing", () => undefined],
    ["a text", () => "passkey"],
    ["base64 with padding", (given) => ({ ...given, id: "aGk=", rawId: "aGk=" })],
    ["an id that is not the raw id", (given) => ({ ...given, rawId: "aGk" })],
    ["a huge id", (given) => ({ ...given, id: "a".repeat(1365), rawId: "a".repeat(1365) })],
    ["client data that is not JSON", (given) => ({ ...given, response: { ...given.response, clientDataJSON: "aGk" } })],
    ["client data that is null", (given) => ({ ...given, response: { ...given.response, clientDataJSON: "bnVsbA" } })],
    ["a signature that is not DER", (given) => ({ ...given, response: { ...given.response, signature: "aGk" } })],
    ["an empty signature", (given) => ({ ...given, response: { ...given.response, signature: "" } })],
    ["no response", (given) => ({ ...given, response: null })],
  ];

  test.each(changes)("as an assertion: %s", async (_, change) => {
    const given = change(own.get(await signInOptions()));
    expect((await post("/api/auth/passkeys/sign-in", { passkey: given })).status).toBe(422);
  });

  test("and a body over 16 KiB with 413", async () => {
    expect((await post("/api/auth/passkeys/sign-in", { passkey: "a".repeat(17_000) })).status).toBe(413);
  });
});

const statusOf = async (authenticator: PasskeyAuthenticator) =>
  (await post("/api/auth/passkeys/sign-in", { passkey: authenticator.get(await signInOptions()) })).status;

test("an unverified account loses its passkeys when its owner resets the password, and a verified one keeps them", async () => {
  const account = await newAccount();
  const { authenticator } = await addPasskey(account);
  /** Resets the password by the n-th emailed link, and signs in. */
  const reset = async (n: number) => {
    const token = await requestReset(account.email, n);
    const password = `an entirely new password ${n}`;
    expect((await post("/api/auth/reset/confirm", { token, password })).status).toBe(200);
    return (await post("/api/auth/login", { email: account.email, password })).json();
  };
  const signedIn = await reset(1);
  expect(await statusOf(authenticator)).toBe(422);
  const { authenticator: own } = await addPasskey(signedIn);
  await reset(2);
  expect(await statusOf(own)).toBe(200);
});
