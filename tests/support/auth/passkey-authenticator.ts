import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { encode } from "cborg";
import type {
  PasskeyAssertion,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
} from "@/lib/auth/passkeys/schema";
import { BASE_URL } from "@/tests/support/base-url";

const FLAGS = { userPresent: 0x01, userVerified: 0x04, backupEligible: 0x08, backedUp: 0x10, attested: 0x40 };

/** How a response differs from a genuine one. */
export type Forgery = {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  counter?: number;
  isUserPresent?: boolean;
  isUserVerified?: boolean;
  userHandle?: string | null;
  isBackupEligible?: boolean;
  isBackedUp?: boolean;
  /** Signs with another key. */
  privateKey?: KeyObject;
  /** Members of the COSE key. */
  coseKey?: [label: number, value: unknown][];
  fmt?: string;
  attStmt?: unknown;
};

type Credential = {
  id: Buffer;
  userHandle: string;
  keys: { publicKey: KeyObject; privateKey: KeyObject };
  counter: number;
};

/**
 * An authenticator in software (Web Authentication Level 3, section 6): it creates ES256 credentials and signs with
 * them. Its credentials are synced, without a counter, unless it counts.
 */
export class PasskeyAuthenticator {
  readonly credentials: Credential[] = [];

  constructor(private readonly kind: { hasCounter?: boolean } = {}) {}

  /** What `navigator.credentials.create` returns, as JSON. */
  create({ challenge, rp, user }: PasskeyCreationOptions, forgery: Forgery = {}): PasskeyRegistration {
    const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const credential: Credential = { id: randomBytes(32), userHandle: user.id, keys, counter: 0 };
    this.credentials.push(credential);
    const { fmt = "none", attStmt = {}, coseKey = [] } = forgery;
    const idLength = Buffer.of(0, credential.id.length);
    const key = encode(coseKeyOf(keys.publicKey, coseKey));
    const attested = Buffer.concat([Buffer.alloc(16), idLength, credential.id, key]);
    const authData = Buffer.concat([this.#authData(rp.id, credential, FLAGS.attested, forgery), attested]);
    const id = credential.id.toString("base64url");
    return {
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: clientData("webauthn.create", challenge, forgery).toString("base64url"),
        attestationObject: Buffer.from(encode({ fmt, attStmt, authData })).toString("base64url"),
        transports: ["internal"],
      },
    };
  }

  /** What `navigator.credentials.get` returns, as JSON: the assertion of the newest credential. */
  get({ challenge, rpId }: PasskeyRequestOptions, forgery: Forgery = {}): PasskeyAssertion {
    const credential = this.credentials.at(-1);
    if (!credential) throw new Error("The authenticator has no credential");
    if (this.kind.hasCounter) credential.counter += 1;
    const authData = this.#authData(rpId, credential, 0, forgery);
    const clientDataJson = clientData("webauthn.get", challenge, forgery);
    const signed = Buffer.concat([authData, createHash("sha256").update(clientDataJson).digest()]);
    const id = credential.id.toString("base64url");
    return {
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: clientDataJson.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: sign("sha256", signed, forgery.privateKey ?? credential.keys.privateKey).toString("base64url"),
        userHandle: forgery.userHandle === undefined ? credential.userHandle : forgery.userHandle,
      },
    };
  }

  /** Section 6.1. */
  #authData(rpId: string, { counter }: Credential, flags: number, forgery: Forgery): Buffer {
    const isSynced = !this.kind.hasCounter;
    const { isUserPresent = true, isUserVerified = true, isBackupEligible = isSynced, isBackedUp = isSynced } = forgery;
    const header = Buffer.alloc(5);
    header[0] =
      flags |
      (isUserPresent ? FLAGS.userPresent : 0) |
      (isUserVerified ? FLAGS.userVerified : 0) |
      (isBackupEligible ? FLAGS.backupEligible : 0) |
      (isBackedUp ? FLAGS.backedUp : 0);
    header.writeUInt32BE(forgery.counter ?? counter, 1);
    return Buffer.concat([
      createHash("sha256")
        .update(forgery.rpId ?? rpId)
        .digest(),
      header,
    ]);
  }
}

/** Section 5.8.1. */
function clientData(type: string, challenge: string, forgery: Forgery): Buffer {
  const { origin = BASE_URL, crossOrigin = false } = forgery;
  const given = { type: forgery.type ?? type, challenge: forgery.challenge ?? challenge, origin, crossOrigin };
  return Buffer.from(JSON.stringify(given));
}

/** RFC 9053, section 7.1: EC2, ES256, P-256. */
function coseKeyOf(publicKey: KeyObject, others: [label: number, value: unknown][]): Map<number, unknown> {
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  return new Map<number, unknown>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, "base64url")],
    [-3, Buffer.from(y, "base64url")],
    ...others,
  ]);
}

/** Members of a COSE key, which replace those of an authenticator's own. */
type CoseKey = NonNullable<Forgery["coseKey"]>;
/** A point with coordinates of one byte's value. */
export const point = (byte: number): CoseKey => [
  [-2, Buffer.alloc(32, byte)],
  [-3, Buffer.alloc(32, byte)],
];

const bytesOf = (text = "") => Buffer.from(text, "base64url");

/** RFC 8152, section 13.2, with the algorithm of another type. */
export function ed25519Key(): CoseKey {
  const { x } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  return [
    [1, 1],
    [-1, 6],
    [-2, bytesOf(x)],
  ];
}

/** RFC 8230, section 4. */
export function rsaKey(modulusLength: number, exponent?: Buffer): CoseKey {
  const { n, e } = generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
  return [
    [1, 3],
    [3, -257],
    [-1, bytesOf(n)],
    [-2, exponent ?? bytesOf(e)],
  ];
}
