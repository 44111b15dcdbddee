import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { verifyAttestation } from "@/lib/releases/publishing/attestations/verify-attestation";
import {
  BUILD,
  COMMIT,
  newKeys,
  newSigstore,
  readSample,
  SAMPLE_FILE,
  type TestBundle,
} from "@/tests/support/releases/sigstore";

const sigstore = await newSigstore();
const BYTES = randomBytes(1000);
const DAY_MS = 24 * 60 * 60 * 1000;
const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const verify = (bundle: unknown, bytes = BYTES, roots = [sigstore.trustedRoot]) =>
  verifyAttestation(bundle, sha256Of(bytes), roots);

test("a bundle of GitHub's public instance is verified with the root that ships, years after its certificate expired", async () => {
  const bundle = JSON.parse((await readSample()).toString());
  expect(verifyAttestation(bundle, sha256Of(SAMPLE_FILE))).toEqual({
    issuer: "https://token.actions.githubusercontent.com/hammer-time",
    signer: "https://github.com/too-legit/attest/.github/workflows/integration.yml@refs/heads/main",
    repository: "https://github.com/too-legit/attest",
    commit: "283bf967fa3c591925dd25e6a6e8e781542117bf",
    ref: "refs/heads/main",
    repositoryId: "851894824",
    ownerId: "180348046",
    workflow: "https://github.com/too-legit/attest/.github/workflows/integration.yml@refs/heads/main",
    trigger: "workflow_dispatch",
    runUrl: "https://github.com/too-legit/attest/actions/runs/10818226125/attempts/1",
    subject: null,
  });
  expect(() => verifyAttestation(bundle, sha256Of(SAMPLE_FILE), [sigstore.trustedRoot])).toThrow("certificate chain");
});

test("a bundle of several files is one of each of them, and of no other", async () => {
  const [first, second, third] = [randomBytes(10), randomBytes(10), randomBytes(10)];
  const bundle = await sigstore.attest([first, second]);
  expect(verify(bundle, first)).toMatchObject({ signer: BUILD[9], commit: COMMIT });
  expect(verify(bundle, second)).toMatchObject({ repository: "https://github.com/acme/app" });
  expect(() => verify(bundle, third)).toThrow("does not state the provenance of the file");
});

test("a certificate counts for what was signed while it was valid, whatever the time is now", async () => {
  const issuedAt = new Date(Date.now() + 30 * DAY_MS);
  const bundle = await sigstore.attest([BYTES], { issuedAt, loggedAt: new Date(issuedAt.getTime() + 60_000) });
  expect(verify(bundle)).toMatchObject({ commit: COMMIT });
});

test("with a root that has no log of signatures, as GitHub's for private repositories, a signed timestamp is needed", async () => {
  const roots = [{ ...sigstore.trustedRoot, tlogs: [], ctlogs: [] }];
  const build = { isUnlogged: true };
  expect(verify(await sigstore.attestPrivately([BYTES], build), BYTES, roots)).toMatchObject({ commit: COMMIT });
  // The roots of several instances are tried in turn, as of the file that `gh attestation trusted-root` writes.
  const both = [(await newSigstore()).trustedRoot, ...roots];
  expect(verify(await sigstore.attestPrivately([BYTES], build), BYTES, both)).toMatchObject({ commit: COMMIT });
  const { timestampVerificationData: _, ...material } = (await sigstore.attestPrivately([BYTES], build))
    .verificationMaterial;
  const untimed = { ...(await sigstore.attestPrivately([BYTES], build)), verificationMaterial: material };
  expect(() => verify(untimed, BYTES, roots)).toThrow("expected 1 timestamps, got 0");
  expect(() => verify(untimed)).toThrow();
});

/** A bundle with its only entry of the log changed. */
function withEntry(bundle: TestBundle, change: (entry: Entry) => object): object {
  const { tlogEntries, ...material } = bundle.verificationMaterial;
  return { ...bundle, verificationMaterial: { ...material, tlogEntries: tlogEntries.map(change) } };
}
type Entry = TestBundle["verificationMaterial"]["tlogEntries"][number];

const withCertificate = (bundle: TestBundle, rawBytes: string) => ({
  ...bundle,
  verificationMaterial: { ...bundle.verificationMaterial, certificate: { rawBytes } },
});
const withCheckpoint = (bundle: TestBundle, change: (envelope: string) => string) =>
  withEntry(bundle, (entry) => {
    const { inclusionProof } = entry;
    return {
      ...entry,
      inclusionProof: { ...inclusionProof, checkpoint: { envelope: change(inclusionProof.checkpoint.envelope) } },
    };
  });
const inAnHour = () => new Date(Date.now() + 60 * 60 * 1000);
const forged = newKeys();

// What release publishing refuses: "What it withstands".
test.each<[string, () => Promise<unknown>, string | RegExp]>([
  ["of another file", () => sigstore.attest([randomBytes(1000)]), "does not state the provenance of the file"],
  ["of two other files", () => sigstore.attest([randomBytes(9), randomBytes(9)]), "does not state the provenance"],
  [
    "of a bill of materials",
    () => sigstore.attest([BYTES], { predicateType: "https://spdx.dev/Document" }),
    "provenance",
  ],
  ["by another authority", async () => (await newSigstore()).attest([BYTES]), "certificate chain"],
  [
    "whose certificate had expired when it was signed",
    () => sigstore.attest([BYTES], { loggedAt: inAnHour() }),
    "certificate chain",
  ],
  [
    "that was signed before its certificate was issued",
    () => sigstore.attest([BYTES], { issuedAt: inAnHour() }),
    "certificate chain",
  ],
  [
    "without a signed time",
    async () => withEntry(await sigstore.attest([BYTES]), ({ inclusionPromise: _, ...entry }) => entry),
    "expected 1 timestamps, got 0",
  ],
  [
    "whose time was changed to when the certificate was valid",
    async () =>
      withEntry(await sigstore.attest([BYTES], { loggedAt: inAnHour() }), (entry) => ({
        ...entry,
        integratedTime: String(Math.floor(Date.now() / 1000) + 60),
      })),
    "inclusion promise could not be verified",
  ],
  ["whose certificate is in no log", () => sigstore.attest([BYTES], { isUnlogged: true }), "expected 1 SCTs, got 0"],
  ["that is in no log", () => sigstore.attestPrivately([BYTES]), "expected 1 tlog entries, got 0"],
  [
    "without a proof of inclusion",
    async () => withEntry(await sigstore.attest([BYTES]), ({ inclusionProof: _, ...entry }) => entry),
    "inclusionProof",
  ],
  [
    "of version 0.1 with a promise of inclusion alone",
    async () => ({
      ...withEntry(await sigstore.attest([BYTES]), ({ inclusionProof: _, ...entry }) => entry),
      mediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
    }),
    "it has no inclusion proof",
  ],
  ["in another log", () => sigstore.attest([BYTES], { logKeys: forged }), "inclusion promise could not be verified"],
  [
    "in another log that claims to be the known one",
    async () => {
      const { logId } = (await sigstore.attest([BYTES])).verificationMaterial.tlogEntries[0] as Entry;
      return withEntry(await sigstore.attest([BYTES], { logKeys: forged }), (entry) => ({ ...entry, logId }));
    },
    "inclusion promise could not be verified",
  ],
  [
    "with another's entry of the log",
    async () => {
      const bundle = await sigstore.attest([BYTES]);
      // Later: an entry from before the certificate would be refused for that.
      const [entry] = (await sigstore.attest([BYTES])).verificationMaterial.tlogEntries;
      return withEntry(bundle, () => entry as Entry);
    },
    "tlog entry signature mismatch",
  ],
  [
    "with another's proof of inclusion",
    async () => {
      const { inclusionProof } = (await sigstore.attest([BYTES])).verificationMaterial.tlogEntries[0] as Entry;
      return withEntry(await sigstore.attest([BYTES]), (entry) => ({ ...entry, inclusionProof }));
    },
    "calculated root hash does not match",
  ],
  [
    "with an unsigned checkpoint",
    async () => withCheckpoint(await sigstore.attest([BYTES]), (text) => text.split("\n\n")[0] ?? ""),
    "checkpoint",
  ],
  [
    "whose checkpoint names an expression that takes forever as the signer",
    async () =>
      withCheckpoint(await sigstore.attest([BYTES]), (text) =>
        text.replace(/\u2014 \S+/, `\u2014 ${"(.*".repeat(20)}${")*".repeat(20)}~`),
      ),
    "no signatures found in checkpoint",
  ],
  [
    "with another signature",
    async () => {
      const [own, other] = [await sigstore.attest([BYTES]), await sigstore.attest([BYTES])];
      return { ...own, dsseEnvelope: { ...own.dsseEnvelope, signatures: other.dsseEnvelope.signatures } };
    },
    "tlog entry signature mismatch",
  ],
  [
    "whose statement was replaced",
    async () => {
      const [own, other] = [await sigstore.attest([BYTES]), await sigstore.attest([randomBytes(9)])];
      return { ...other, dsseEnvelope: { ...other.dsseEnvelope, payload: own.dsseEnvelope.payload } };
    },
    "payload hash mismatch",
  ],
  [
    "with another certificate of the same authority",
    async () => {
      const other = await sigstore.attest([randomBytes(9)]);
      return withCertificate(await sigstore.attest([BYTES]), other.verificationMaterial.certificate.rawBytes);
    },
    "signature verification failed",
  ],
  [
    "that is a signature of a file, with a statement beside it",
    async () => ({
      ...(await sigstore.attest([BYTES])),
      messageSignature: {
        messageDigest: { algorithm: "SHA2_256", digest: createHash("sha256").update(BYTES).digest("base64") },
        signature: "AAAA",
      },
    }),
    "does not state the provenance",
  ],
  [
    "signed with a key",
    async () => ({
      ...(await sigstore.attest([BYTES])),
      verificationMaterial: { publicKey: { hint: "a" }, tlogEntries: [] },
    }),
    "signed with a key",
  ],
  [
    "whose certificate is deeply nested",
    async () => withCertificate(await sigstore.attest([BYTES]), nestedDer(100_000)),
    /./,
  ],
  ["whose certificate is none", async () => withCertificate(await sigstore.attest([BYTES]), "AAAA"), /./],
  ["that is deeply nested JSON", async () => JSON.parse(`${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`), /./],
  ["that is empty", async () => ({}), /./],
  ["that is null", async () => null, /./],
  ["that is text", async () => "bundle", /./],
])("a bundle %s is refused", async (_, make, reason) => {
  const bundle = await make();
  expect(() => verify(bundle)).toThrow(reason);
});

/** Sequences in sequences, with lengths of three bytes. */
function nestedDer(depth: number): string {
  const header = (length: number) => [0x30, 0x83, (length >> 16) & 255, (length >> 8) & 255, length & 255];
  const headers = Array.from({ length: depth }, (_, i) => header((depth - i - 1) * 5));
  return Buffer.from(headers.flat()).toString("base64");
}

test("each byte of a statement and its signature counts, and no byte of a certificate makes it another's", async () => {
  const bundle = await sigstore.attest([BYTES]);
  const identity = verify(bundle);
  const { dsseEnvelope: envelope, verificationMaterial } = bundle;
  const flips = (base64: string) => {
    const bytes = Buffer.from(base64, "base64");
    return [...bytes].map((byte, at) => Buffer.from(bytes.with(at, byte ^ 1)).toString("base64"));
  };
  const changed = [
    ...flips(envelope.payload).map((payload) => ({ ...bundle, dsseEnvelope: { ...envelope, payload } })),
    ...flips(envelope.signatures[0]?.sig ?? "").map((sig) => ({
      ...bundle,
      dsseEnvelope: { ...envelope, signatures: [{ sig }] },
    })),
  ];
  expect(changed.length).toBeGreaterThan(250);
  for (const one of changed) expect(() => verify(one)).toThrow();
  for (const rawBytes of flips(verificationMaterial.certificate.rawBytes)) {
    expect(verifiedOrNull(withCertificate(bundle, rawBytes)) ?? identity).toEqual(identity);
  }
});

function verifiedOrNull(bundle: unknown) {
  try {
    return verify(bundle);
  } catch {
    return null;
  }
}
