import { randomBytes, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { mintAssertion, newAttestKey, sha256, toCbor } from "@/dev/app-attest/app-attest";
import { newKeys } from "@/dev/app-attest/certificates";
import { verifyAssertion } from "@/lib/push/evidence/app-attest";

const key = newAttestKey();
const parts = { key, clientDataHash: randomBytes(32), appId: "TEAM123456.com.example.homeport" };

type Given = Parameters<typeof verifyAssertion>[1];
const check = (assertion: Uint8Array, change: Partial<Given> = {}) =>
  verifyAssertion(assertion, { ...parts, publicKey: key.point, counter: 0n, ...change });
const refused = (assertion: Uint8Array, reason: string, change?: Partial<Given>) =>
  expect(() => check(assertion, change)).toThrow(
    expect.objectContaining({ extras: expect.objectContaining({ fields: { reason } }) }),
  );

test("a genuine assertion returns its counter", () => {
  expect(check(mintAssertion(parts, 1))).toBe(1n);
  expect(check(mintAssertion(parts, 0xffffffff), { counter: 0xfffffffen })).toBe(0xffffffffn);
});

test("extensions after the authenticator data are accepted", () => {
  expect(check(mintAssertion(parts, 7, Buffer.from("a163666f6f63626172", "hex")))).toBe(7n);
});

test.each<[string, Partial<Given>, string]>([
  ["other client data", { clientDataHash: randomBytes(32) }, "signature_invalid"],
  ["another key", { publicKey: newAttestKey().point }, "signature_invalid"],
  ["a stored key that is none", { publicKey: randomBytes(65) }, "signature_invalid"],
  ["another app", { appId: "TEAM123456.com.example.other" }, "app_id_mismatch"],
  ["a counter that was seen before", { counter: 5n }, "counter_replayed"],
  ["a counter that goes back", { counter: 6n }, "counter_replayed"],
])("an assertion is invalid for %s", (_, change, reason) => refused(mintAssertion(parts, 5), reason, change));

test("an assertion that signs the nonce instead of its hash is invalid", () => {
  const authenticatorData = Buffer.concat([sha256(parts.appId), Buffer.of(0x40, 0, 0, 0, 1)]);
  const once = sign("sha256", Buffer.concat([authenticatorData, parts.clientDataHash]), key.privateKey);
  refused(toCbor({ signature: once, authenticatorData }), "signature_invalid");
});

test("signed authenticator data without a complete counter is malformed", () => {
  const authenticatorData = Buffer.concat([sha256(parts.appId), Buffer.of(0x40, 0, 0, 1)]);
  const signature = sign("sha256", sha256(authenticatorData, parts.clientDataHash), key.privateKey);
  refused(toCbor({ signature, authenticatorData }), "malformed");
});

test("an assertion with any byte changed is invalid", () => {
  const assertion = mintAssertion(parts, 5);
  for (const at of assertion.keys()) {
    const changed = Buffer.from(assertion);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
    expect(() => check(changed)).toThrow(expect.objectContaining({ code: "evidence_invalid" }));
  }
});

describe("malformed CBOR", () => {
  const [signature, data] = [Buffer.of(1), Buffer.of(2)];
  const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
  const fields = `69 ${Buffer.from("signature").toString("hex")} 41 01`;
  const more = `71 ${Buffer.from("authenticatorData").toString("hex")} 41 02`;

  test("(the same input without its fault is valid)", () => {
    expect(hex(`a2 ${fields} ${more}`)).toEqual(toCbor({ signature, authenticatorData: data }));
    refused(hex(`a2 ${fields} ${more}`), "signature_invalid");
  });

  test("an unknown field is ignored, unless it has too many items", () => {
    refused(toCbor({ signature, authenticatorData: data, more: [1, 2, 3] }), "signature_invalid");
    refused(toCbor({ signature, authenticatorData: data, more: Array(25).fill(1) }), "signature_invalid");
    refused(toCbor({ signature, authenticatorData: data, more: Array(26).fill(1) }), "malformed");
  });

  test.each<[string, Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["a number", hex("01")],
    ["null", hex("f6")],
    ["a list", hex("80")],
    ["a byte after its end", hex(`a2 ${fields} ${more} 00`)],
    ["a member twice", hex(`a3 ${fields} ${fields} ${more}`)],
    ["a map of indefinite length", hex(`bf ${fields} ${more} ff`)],
    ["bytes of indefinite length", hex(`a2 ${fields.replace("41 01", "5f 41 01 ff")} ${more}`)],
    ["a length that could be shorter", hex(`a2 ${fields.replace("41 01", "58 01 01")} ${more}`)],
    ["text where bytes belong", toCbor({ signature: "s", authenticatorData: data })],
    ["a member missing", toCbor({ signature })],
    ["a tag", hex(`c1 a2 ${fields} ${more}`)],
    ["an undefined", hex("f7")],
    ["an undefined in an unknown field", hex(`a3 ${fields} ${more} 61 78 f7`)],
    ["a not-a-number in an unknown field", hex(`a3 ${fields} ${more} 61 78 f97e00`)],
    ["an infinity in an unknown field", hex(`a3 ${fields} ${more} 61 78 f97c00`)],
    ["a number of 64 bits in an unknown field", hex(`a3 ${fields} ${more} 61 78 1bffffffffffffffff`)],
    ["a not-a-number", hex("f97e00")],
    ["a number of 64 bits", hex("1bffffffffffffffff")],
    ["a byte string of 4 GiB", hex("5affffffff")],
    ["a list of 4 billion", hex("9affffffff")],
    ["a byte string of 2^63 bytes", hex("5b7fffffffffffffff")],
    ["a prototype", toCbor(new Map([["__proto__", new Map([["signature", signature]])]]))],
    ["3,000 lists in each other", Buffer.alloc(3_000, 0x81)],
    ["3,000 maps in each other", Buffer.from("a16161".repeat(3_000), "hex")],
    ["3,000 small items", Buffer.concat([hex("990bb8"), Buffer.alloc(3_000)])],
    ["noise", randomBytes(3_000)],
  ])("%s", (_, bytes) => refused(bytes, "malformed"));
});

test("a key of another curve is invalid, whatever it signs", () => {
  const publicKey = newKeys("P-384").publicKey.export({ format: "der", type: "spki" });
  refused(mintAssertion(parts, 5), "signature_invalid", { publicKey });
});
