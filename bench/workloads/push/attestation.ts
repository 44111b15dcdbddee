import { randomBytes, X509Certificate } from "node:crypto";
import { authority, mintAssertion, mintAttestation, newAttestKey } from "../../../dev/app-attest/app-attest";
import { verifyAssertion, verifyAttestation } from "../../../lib/push/evidence/app-attest";
import { atMost, median, type Row, type Section } from "../../lib/table";

const ROUNDS = 5;
const PER_ROUND = 200;
const MAX_MS = 5;

/** The CPU time of verifying App Attest evidence, in this process. */
export async function attestation(): Promise<Section> {
  const key = newAttestKey();
  const environment = "production" as const;
  const parts = { key, clientDataHash: randomBytes(32), appId: "TEAM123456.com.example.homeport", environment };
  const root = new X509Certificate(authority.rootPem);
  const attestationInput = { ...parts, keyId: key.keyId, root, allowsUnprotectedMacs: false, now: new Date() };
  const attested = mintAttestation(parts);
  const asserted = mintAssertion(parts, 1);
  const assertionInput = { ...parts, publicKey: key.point, counter: 0n };
  const rows = [
    toRow("an attestation", () => verifyAttestation(attested, attestationInput)),
    toRow("an assertion", () => verifyAssertion(asserted, assertionInput)),
  ];
  return { title: "App Attest, CPU", rows };
}

function toRow(candidate: string, verify: () => unknown): Row {
  const cpuMs = median(Array.from({ length: ROUNDS }, () => cpuMsOf(verify)));
  return { candidate, cpuMsPerRequest: cpuMs, goal: atMost(cpuMs, MAX_MS, " ms") };
}

function cpuMsOf(verify: () => unknown): number {
  const before = process.cpuUsage();
  for (let i = 0; i < PER_ROUND; i++) verify();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / PER_ROUND;
}
