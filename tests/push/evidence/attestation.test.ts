import { type KeyObject, randomBytes, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  AAGUIDS,
  type AttestationParts,
  authority,
  type Forgery,
  macExtensions,
  mintAttestation,
  NONCE_EXTENSION,
  newAttestKey,
  newAuthority,
  nonceExtension,
  sha256,
  toCbor,
} from "@/dev/app-attest/app-attest";
import { extension, issue, newKeys } from "@/dev/app-attest/certificates";
import { der, octets, sequence } from "@/dev/app-attest/der";
import { verifyAttestation } from "@/lib/push/evidence/app-attest";
import { APPLE_APP_ATTESTATION_ROOT } from "@/lib/push/evidence/verify";

const NOW = new Date();
const DAY_MS = 24 * 60 * 60 * 1000;
const parts: AttestationParts = {
  key: newAttestKey(),
  clientDataHash: randomBytes(32),
  appId: "TEAM123456.com.example.homeport",
  environment: "production",
};
const root = new X509Certificate(authority.rootPem);

type Given = Parameters<typeof verifyAttestation>[1];
const check = (attestation: Uint8Array, change: Partial<Given> = {}) =>
  verifyAttestation(attestation, {
    ...parts,
    keyId: parts.key.keyId,
    root,
    allowsUnprotectedMacs: false,
    now: NOW,
    ...change,
  });
const reason = (reason: string) => expect.objectContaining({ extras: expect.objectContaining({ fields: { reason } }) });
const refused = (attestation: Uint8Array, why: string, change?: Partial<Given>) =>
  expect(() => check(attestation, change)).toThrow(reason(why));

test.each(["production", "sandbox"] as const)(
  "a genuine attestation of the %s environment returns its key",
  (environment) => {
    const genuine = mintAttestation({ ...parts, environment });
    expect(check(genuine, { environment }).point).toEqual(parts.key.point);
  },
);

test("a Mac's key has to require full security and system integrity protection, unless the configuration allows others", () => {
  expect(check(mintAttestation(parts, { more: macExtensions() })).point).toEqual(parts.key.point);
  for (const requirement of ["none", null] as const) {
    const unprotected = mintAttestation(parts, { more: macExtensions(requirement) });
    refused(unprotected, "mac_unprotected");
    expect(check(unprotected, { allowsUnprotectedMacs: true }).point).toEqual(parts.key.point);
  }
  // An iPhone with iOS 27 has a policy of another kind.
  const [, policy = Buffer.alloc(0)] = macExtensions("none");
  expect(check(mintAttestation(parts, { more: [policy] })).point).toEqual(parts.key.point);
});

test("a certificate is valid from its first second to its last", () => {
  const [validFrom, validTo] = [new Date(Date.UTC(2026, 0, 1)), new Date(Date.UTC(2026, 0, 2))];
  const keys = { name: "CA", keys: newKeys(), isAuthority: true };
  const root = issue({ ...keys, validFrom, validTo });
  const issuedBy = { ...authority, root, intermediate: issue({ ...keys, validFrom, validTo }, root) };
  const attestation = mintAttestation(parts, { issuedBy, validFrom, validTo });
  const at = (now: Date) => outcome(() => check(attestation, { root: new X509Certificate(root.der), now }));
  expect([at(validFrom), at(validTo)]).toEqual(["holds", "holds"]);
  const outside = [new Date(validFrom.getTime() - 1), new Date(validTo.getTime() + 1)].map(at);
  expect(outside).toEqual(["certificate_expired", "certificate_expired"]);
});

test("the receipt is returned as it is", () => {
  const receipt = randomBytes(4_000);
  expect(check(mintAttestation(parts, { receipt })).receipt).toEqual(receipt);
});

describe("an attestation is invalid for", () => {
  test.each<[string, Partial<Given>, string]>([
    ["another challenge, account, token", { clientDataHash: randomBytes(32) }, "nonce_mismatch"],
    ["another key id", { keyId: randomBytes(32) }, "key_id_mismatch"],
    ["another team", { appId: "TEAM654321.com.example.homeport" }, "app_id_mismatch"],
    ["another bundle", { appId: "TEAM123456.com.example.other" }, "app_id_mismatch"],
    ["the other environment", { environment: "sandbox" }, "environment_mismatch"],
    ["Apple's own root", { root: new X509Certificate(APPLE_APP_ATTESTATION_ROOT) }, "certificate_untrusted"],
    ["another root of the same name", { root: new X509Certificate(newAuthority().rootPem) }, "certificate_untrusted"],
    ["a time after its certificates", { now: new Date(NOW.getTime() + 400 * DAY_MS) }, "certificate_expired"],
    ["a time before its certificates", { now: new Date(NOW.getTime() - 400 * DAY_MS) }, "certificate_expired"],
  ])("%s", (_, change, why) => refused(mintAttestation(parts), why, change));
});

describe("a forged attestation is invalid:", () => {
  const other = newKeys();
  const nonce = extension(NONCE_EXTENSION, sequence(der(0xa1, octets(randomBytes(32)))));
  test.each<[string, Forgery, string]>([
    ["a format of another kind", { fmt: "apple" }, "malformed"],
    ["certificates of another authority", { issuedBy: newAuthority() }, "certificate_untrusted"],
    ["a certificate that has expired", { validTo: new Date(NOW.getTime() - 1000) }, "certificate_expired"],
    ["a certificate for later", { validFrom: new Date(NOW.getTime() + DAY_MS) }, "certificate_expired"],
    ["a certificate for another key", { certified: other }, "key_id_mismatch"],
    ["a certificate for a P-384 key", { certified: newKeys("P-384") }, "malformed"],
    ["a nonce of another attestation", { extensions: [nonce] }, "nonce_mismatch"],
    ["no nonce", { extensions: [] }, "malformed"],
    ["two nonces", { extensions: [nonce, nonce] }, "malformed"],
    [
      "a nonce that is not in a sequence",
      { extensions: [extension(NONCE_EXTENSION, octets(randomBytes(32)))] },
      "malformed",
    ],
    ["an empty nonce extension", { extensions: [extension(NONCE_EXTENSION, Buffer.alloc(0))] }, "malformed"],
    ["two platforms", { more: [...macExtensions(null), ...macExtensions(null)] }, "malformed"],
    ["a counter of 1", { counter: 1 }, "counter_not_zero"],
    ["a counter in the highest byte", { counter: 0x01000000 }, "counter_not_zero"],
    ["a development key for production", { aaguid: AAGUIDS.sandbox }, "environment_mismatch"],
    [
      "an aaguid whose last byte is wrong",
      { aaguid: Buffer.from("appattest\0\0\0\0\0\0\x01") },
      "environment_mismatch",
    ],
    ["an aaguid whose first byte is wrong", { aaguid: Buffer.from("Appattest\0\0\0\0\0\0\0") }, "environment_mismatch"],
    ["another credential id", { credentialId: randomBytes(32) }, "credential_id_mismatch"],
    ["a credential id cut short", { credentialId: parts.key.keyId.subarray(0, 31) }, "credential_id_mismatch"],
    ["no certificate", { x5c: () => [] }, "malformed"],
    ["one certificate", { x5c: (leaf) => [leaf] }, "malformed"],
    ["three certificates", { x5c: (leaf, intermediate) => [leaf, intermediate, intermediate] }, "malformed"],
    [
      "certificates the other way round",
      { x5c: (leaf, intermediate) => [intermediate, leaf] },
      "certificate_untrusted",
    ],
    ["a leaf twice", { x5c: (leaf) => [leaf, leaf] }, "certificate_untrusted"],
    ["text for a certificate", { x5c: (_, intermediate) => ["leaf", intermediate] }, "malformed"],
    ["a certificate with a byte after it", { x5c: (leaf, i) => [Buffer.concat([leaf, Buffer.of(0)]), i] }, "malformed"],
    ["a certificate cut short", { x5c: (leaf, i) => [leaf.subarray(0, -1), i] }, "malformed"],
    ["a certificate in PEM", { x5c: (leaf, i) => [Buffer.from(new X509Certificate(leaf).toString()), i] }, "malformed"],
  ])("%s", (_, forgery, why) => refused(mintAttestation(parts, forgery), why));

  test("a certificate issued by an attested key, which is not a certificate authority", () => {
    const attested = issue({ name: "Attested key" }, authority.intermediate);
    const issuedBy = { ...authority, intermediate: attested };
    refused(mintAttestation(parts, { issuedBy }), "certificate_untrusted");
  });

  test("a certificate issued by another certificate that is not an authority", () => {
    const issuedBy = { ...authority, intermediate: issue({ name: "No authority" }, authority.root) };
    refused(mintAttestation(parts, { issuedBy }), "certificate_untrusted");
  });

  test("an expired intermediate certificate, though the key's is valid", () => {
    const expired = { name: "CA", keys: newKeys(), isAuthority: true, validTo: new Date(NOW.getTime() - 1000) };
    const issuedBy = { ...authority, intermediate: issue(expired, authority.root) };
    refused(mintAttestation(parts, { issuedBy }), "certificate_expired");
  });

  test("a certificate issued by an authority with a key of an unknown kind", () => {
    const spki = newKeys().publicKey.export({ format: "der", type: "spki" });
    spki[spki.indexOf("2a8648ce3d0201", "hex") + 6] = 0x7f; // id-ecPublicKey (RFC 5480)
    const keys = { ...newKeys(), publicKey: { export: () => spki } as unknown as KeyObject };
    const issuedBy = { ...authority, intermediate: issue({ name: "CA", keys, isAuthority: true }, authority.root) };
    refused(mintAttestation(parts, { issuedBy }), "certificate_untrusted");
  });
});

test.each<[string, Buffer, string]>([
  ["before the credential's length", Buffer.of(0), "malformed"],
  ["before the credential's end", Buffer.of(0, 32, 1), "malformed"],
  ["after an empty credential", Buffer.of(0, 0), "credential_id_mismatch"],
  ["after the credential", Buffer.concat([Buffer.of(0, 32), parts.key.keyId]), "holds"],
])("authenticator data cut off %s, with the right nonce: %s", (_, credential, expected) => {
  const header = Buffer.concat([sha256(parts.appId), Buffer.of(0x40), Buffer.alloc(4), AAGUIDS.production]);
  const authData = Buffer.concat([header, credential]);
  const nonce = nonceExtension(sha256(authData, parts.clientDataHash));
  const leaf = issue({ name: "Attested key", keys: parts.key, extensions: [nonce] }, authority.intermediate);
  const x5c = [leaf.der, authority.intermediate.der];
  const attestation = toCbor({ fmt: "apple-appattest", attStmt: { x5c, receipt: Buffer.of() }, authData });
  expect(outcome(() => check(attestation))).toBe(expected);
});

// ASVS 1.5.2
test.each(hostileAsn1())("%s for a certificate, or in one, is malformed", (_, bytes) => {
  const forgeries: Forgery[] = [
    { extensions: [extension(NONCE_EXTENSION, bytes)] },
    { x5c: (_leaf, issuer) => [bytes, issuer] },
    { x5c: (leaf) => [leaf, bytes] },
  ];
  for (const forgery of forgeries) refused(mintAttestation(parts, forgery), "malformed");
});

/** Which part of an attestation a byte lies in, and what may come of it when it is another. */
function partsOf(attestation: Buffer, forgery: { leaf: Buffer; intermediate: Buffer }) {
  const authData = attestation.indexOf("authData") + "authData".length;
  return [
    { name: "leaf", at: attestation.indexOf(forgery.leaf), length: forgery.leaf.length },
    { name: "intermediate", at: attestation.indexOf(forgery.intermediate), length: forgery.intermediate.length },
    { name: "receipt", at: attestation.indexOf(Buffer.from("Greceipt")) + 1, length: "receipt".length },
    { name: "authData", at: authData + 2, length: attestation.length - authData - 2 },
  ];
}

test("an attestation with any byte changed is invalid, except in the receipt, which is not used", () => {
  const certificates = { leaf: Buffer.alloc(0), intermediate: Buffer.alloc(0) };
  const attestation = mintAttestation(parts, {
    x5c: (leaf, intermediate) => {
      Object.assign(certificates, { leaf, intermediate });
      return [leaf, intermediate];
    },
  });
  const regions = partsOf(attestation, certificates);
  const found: Record<string, Set<string>> = {};
  for (const at of attestation.keys()) {
    const changed = Buffer.from(attestation);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
    const region = regions.find((part) => at >= part.at && at < part.at + part.length)?.name ?? "cbor";
    if (region in certificates && at % 7 !== 0) continue; // each takes milliseconds
    found[region] = (found[region] ?? new Set()).add(outcome(() => check(changed)));
  }
  expect(found).toEqual({
    cbor: new Set(["malformed"]),
    leaf: new Set(["malformed", "certificate_untrusted"]),
    intermediate: new Set(["malformed", "certificate_untrusted"]),
    receipt: new Set(["holds"]),
    authData: new Set(["nonce_mismatch"]),
  });
});

test("an attestation cut off anywhere is malformed", () => {
  const attestation = mintAttestation(parts);
  for (const end of attestation.keys()) refused(attestation.subarray(0, end), "malformed");
});

/** "holds", or the reason why not. */
function outcome(run: () => unknown): string {
  try {
    run();
    return "holds";
  } catch (error) {
    return (error as { extras: { fields: { reason: string } } }).extras.fields.reason;
  }
}

/** Bytes that are not DER, or not the DER of a nonce, by the name of the fault. */
function hostileAsn1(): [string, Buffer][] {
  const nonce = octets(randomBytes(32));
  const explicit = der(0xa1, nonce);
  const hex = (text: string) => Buffer.from(text, "hex");
  const join = (...parts: (Buffer | string)[]) =>
    Buffer.concat(parts.map((part) => (typeof part === "string" ? hex(part) : part)));
  const nested = Array.from({ length: 2_000 }).reduce<Buffer>((inner) => sequence(inner), Buffer.alloc(0));
  const random = fc.sample(fc.uint8Array({ maxLength: 200 }), { numRuns: 10, seed: 20261128 });
  return [
    ["nothing", hex("")],
    ["a tag without a length", hex("30")],
    ["a value that is cut off", sequence(explicit).subarray(0, -1)],
    ["a length that is cut off", hex("3082ff")],
    ["indefinite lengths", join("3080a180", nonce, "00000000")],
    ["an indefinite length without an end", join("3080", explicit)],
    ["a length that could be shorter", join("308124", explicit)],
    ["a length with leading zeros", join("3084000000", Buffer.of(explicit.length), explicit)],
    ["a length of 2 GiB", join("30847fffffff", explicit)],
    ["a length of 2^64", join("3088ffffffffffffffff", explicit)],
    ["a length of 126 octets", join("30fe", "ff".repeat(126), explicit)],
    ["a reserved length", join("30ff", explicit)],
    ["2,000 nested sequences", nested],
    ["5,000 nested sequences of indefinite length", hex("3080".repeat(5_000))],
    ["10,000 elements", hex(`30822710${"00".repeat(10_000)}`)],
    ["a byte after the end", join(sequence(explicit), "00")],
    ["another value after the end", join(sequence(explicit), sequence(explicit))],
    ["two nonces", sequence(explicit, explicit)],
    ["a tag of two octets", sequence(join("bf8101", Buffer.of(nonce.length), nonce))],
    ["another tag", sequence(der(0xa2, nonce))],
    ["an implicit tag", sequence(der(0x81, randomBytes(32)))],
    ["an octet string of parts", sequence(der(0xa1, der(0x24, nonce)))],
    ["text instead of bytes", sequence(der(0xa1, der(0x0c, "nonce")))],
    ...random.map((bytes, index): [string, Buffer] => [`random bytes ${index}`, Buffer.from(bytes)]),
  ];
}
