import { createHash, generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { keyFromPoint, keyIdOf, publicPointOf } from "@/lib/push/evidence/p256";

/** The base point of P-256 (FIPS 186-5), uncompressed. */
const BASE_POINT = Buffer.from(
  "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
  "hex",
);

test("a point of P-256 is a key, and the key has the point", () => {
  const key = keyFromPoint(BASE_POINT);
  expect(key && publicPointOf(key)).toEqual(BASE_POINT);
});

test.each<[string, Buffer]>([
  ["is not on the curve", Buffer.alloc(65, 4)],
  ["is compressed", Buffer.concat([Buffer.of(2), BASE_POINT.subarray(1)])],
  ["lacks a byte", BASE_POINT.subarray(0, 64)],
  ["has a byte more", Buffer.concat([BASE_POINT, Buffer.of(0)])],
  ["is empty", Buffer.alloc(0)],
])("a point that %s is no key", (_, point) => expect(keyFromPoint(point)).toBeNull());

test("a key of another kind has no point", () => {
  const others = [
    generateKeyPairSync("ec", { namedCurve: "secp384r1" }),
    generateKeyPairSync("ec", { namedCurve: "secp256k1" }),
    generateKeyPairSync("ed25519"),
    generateKeyPairSync("rsa", { modulusLength: 1024 }),
  ];
  expect(others.map(({ publicKey }) => publicPointOf(publicKey))).toEqual([null, null, null, null]);
});

test("a key's id is the SHA-256 of its point", () => {
  expect(keyIdOf(BASE_POINT)).toEqual(createHash("sha256").update(BASE_POINT).digest());
});
