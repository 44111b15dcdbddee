import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { initializeCA, initializeCTLog } from "@sigstore/mock/dist/fulcio";
import { initializeTLog } from "@sigstore/mock/dist/rekor";
import { initializeTSA } from "@sigstore/mock/dist/timestamp";

const hashOf = (bytes: Uint8Array | string) => createHash("sha256").update(bytes);
/** The authorities of @sigstore/mock return views. */
const toBuffer = ({ buffer, byteOffset, byteLength }: ArrayBufferView) => Buffer.from(buffer, byteOffset, byteLength);
const base64 = (bytes: ArrayBufferView) => toBuffer(bytes).toString("base64");
export const newKeys = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" });

const REKOR = "https://rekor.example.com";
const IN_TOTO = "application/vnd.in-toto+json";
const SHA256_OID = "2.16.840.1.101.3.4.2.1";

/** What Fulcio copies from a job's ID token into its certificate, by the last number of the extension's OID. */
export type BuildClaims = Readonly<Record<number, string>>;

export const COMMIT = "95baf27389e83e6a5c48f42e190d48d7abcea19e";
const RELEASE_WORKFLOW = "https://github.com/acme/app/.github/workflows/release.yml@refs/tags/v1.4.0";

/** acme/app, built by its release.yml for the tag v1.4.0. */
export const BUILD: BuildClaims = {
  8: "https://token.actions.githubusercontent.com",
  9: RELEASE_WORKFLOW,
  12: "https://github.com/acme/app",
  13: COMMIT,
  14: "refs/tags/v1.4.0",
  15: "804070735",
  17: "16248153",
  18: RELEASE_WORKFLOW,
  20: "push",
  21: "https://github.com/acme/app/actions/runs/9228858953/attempts/1",
};

/** What GitHub attested with the public-good instance in 2024: cli/cli, pkg/cmd/attestation/test/data/custom-issuer.sigstore.json. */
export const readSample = () => readFile("tests/releases/attestations/samples/github-public.sigstore.json");
export const SAMPLE_FILE = Buffer.from("hello-world");

type Build = {
  claims?: BuildClaims;
  predicateType?: string;
  /** When the certificate is issued, for ten minutes, and when the log gets the signature. Default: now. */
  issuedAt?: Date;
  loggedAt?: Date;
  /** The certificate is in no log of certificates. */
  isUnlogged?: boolean;
  /** Of another log of signatures. */
  logKeys?: ReturnType<typeof newKeys>;
};

/** A Sigstore instance with its trusted root: an authority with its log, a log of signatures, and a timestamp authority. */
export async function newSigstore() {
  const keys = { ca: newKeys(), ctLog: newKeys(), log: newKeys(), tsa: newKeys() };
  const clock = new Date();
  const tsa = await initializeTSA(keys.tsa, clock);
  const authority = async ({ issuedAt, isUnlogged }: Build = {}) =>
    initializeCA(keys.ca, isUnlogged ? undefined : await initializeCTLog(keys.ctLog, issuedAt), issuedAt);
  const { rootCertificate } = await authority();

  /** An envelope that states the provenance of files with these bytes, and the certificate of who signed it. */
  const signStatement = async (files: readonly Uint8Array[], build: Build) => {
    const { claims = BUILD, predicateType } = build;
    const statement = {
      _type: "https://in-toto.io/Statement/v1",
      subject: files.map((bytes, i) => ({ name: `file-${i}`, digest: { sha256: hashOf(bytes).digest("hex") } })),
      predicateType: predicateType ?? "https://slsa.dev/provenance/v1",
      predicate: {},
    };
    const payload = Buffer.from(JSON.stringify(statement));
    const { privateKey, publicKey } = newKeys();
    const encoded = Buffer.concat([Buffer.from(`DSSEv1 ${IN_TOTO.length} ${IN_TOTO} ${payload.length} `), payload]);
    const signature = sign("sha256", encoded, privateKey);
    const certificate = await (await authority(build)).issueCertificate({
      publicKey: publicKey.export({ format: "der", type: "spki" }),
      subjectAltName: claims[9] ?? "https://example.com",
      extensions: Object.entries(claims).map(([number, value]) => ({ oid: `1.3.6.1.4.1.57264.1.${number}`, value })),
    });
    return { payload, signature, certificate };
  };

  const bundleOf = ({ payload, signature, certificate }: Awaited<ReturnType<typeof signStatement>>) => ({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    dsseEnvelope: { payload: base64(payload), payloadType: IN_TOTO, signatures: [{ sig: base64(signature) }] },
    verificationMaterial: { certificate: { rawBytes: base64(certificate) } },
  });

  return {
    trustedRoot: trustedRootOf({
      ca: [rootCertificate],
      tsa: [tsa.intCertificate, tsa.rootCertificate],
      log: keys.log.publicKey.export({ format: "der", type: "spki" }),
      ctLog: keys.ctLog.publicKey.export({ format: "der", type: "spki" }),
    }),
    /** A bundle of files with these bytes, as actions/attest writes it with the public-good instance. */
    attest: async (files: readonly Uint8Array[], build: Build = {}) => {
      const signed = await signStatement(files, build);
      const bundle = bundleOf(signed);
      const log = await initializeTLog(REKOR, build.logKeys ?? keys.log, build.loggedAt);
      const tlogEntries = [await logEntry(log, signed)];
      return { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries } };
    },
    /** With a timestamp and no entry in a log, as actions/attest writes it with GitHub's instance for private repositories. */
    attestPrivately: async (files: readonly Uint8Array[], build: Build = {}) => {
      const signed = await signStatement(files, build);
      const bundle = bundleOf(signed);
      clock.setTime(Math.floor(Date.now() / 1000) * 1000); // fractions of a second are not always written as they are read
      const artifactHash = hashOf(signed.signature).digest();
      const request = { artifactHash, hashAlgorithmOID: SHA256_OID, nonce: 1, policyOID: "1.2.3.4" };
      const timestamps = { rfc3161Timestamps: [{ signedTimestamp: base64(await tsa.timestamp(request)) }] };
      const material = { ...bundle.verificationMaterial, timestampVerificationData: timestamps, tlogEntries: [] };
      return { ...bundle, verificationMaterial: material };
    },
  };
}

export type TestBundle = Awaited<ReturnType<Awaited<ReturnType<typeof newSigstore>>["attest"]>>;

type Log = Awaited<ReturnType<typeof initializeTLog>>;
/** Rekor's response (sigstore/rekor, openapi.yaml). */
type LogEntry = {
  body: string;
  integratedTime: number;
  logID: string;
  logIndex: number;
  verification: {
    signedEntryTimestamp: string;
    inclusionProof: { logIndex: number; treeSize: number; rootHash: string; checkpoint: string };
  };
};

/** Logs a signature, as an entry of the kind dsse. */
async function logEntry(log: Log, { payload, signature }: { payload: Buffer; signature: Buffer }) {
  const kindVersion = { kind: "dsse", version: "0.0.1" };
  const payloadHash = { algorithm: "sha256", value: hashOf(payload).digest("hex") };
  const spec = { payloadHash, signatures: [{ signature: base64(signature) }] };
  const logged = (await log.log({ kind: "dsse", apiVersion: "0.0.1", spec })) as unknown as Record<string, LogEntry>;
  const [entry] = Object.values(logged);
  if (!entry) throw new Error("Nothing was logged");
  const { inclusionProof: proof, signedEntryTimestamp } = entry.verification;
  return {
    logIndex: String(entry.logIndex),
    logId: { keyId: Buffer.from(entry.logID, "hex").toString("base64") },
    kindVersion,
    integratedTime: String(entry.integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      treeSize: String(proof.treeSize),
      rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
      hashes: [],
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: entry.body,
  };
}

type Certificates = readonly ArrayBufferView[];
type TrustedKeys = { ca: Certificates; tsa: Certificates; log: Buffer; ctLog: Buffer };

function trustedRootOf({ ca, tsa, log, ctLog }: TrustedKeys) {
  const validFor = { start: "2020-01-01T00:00:00Z" };
  const authority = (certificates: Certificates) => ({
    certChain: { certificates: certificates.map((der) => ({ rawBytes: base64(der) })) },
    validFor,
  });
  const logOf = (baseUrl: string, key: Buffer) => ({
    baseUrl,
    hashAlgorithm: "SHA2_256",
    publicKey: { rawBytes: base64(key), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor },
    logId: { keyId: hashOf(key).digest("base64") },
  });
  return {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    certificateAuthorities: [authority(ca)],
    timestampAuthorities: [authority(tsa)],
    tlogs: [logOf(REKOR, log)],
    ctlogs: [logOf("https://ctfe.example.com", ctLog)],
  };
}
