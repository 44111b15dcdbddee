import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";

/** A signing key as Apple hands one out, with its public half; in PEM. */
export function newSigningKey(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** A certificate for this machine that nobody else has signed, with its key; in PEM. */
export function newCertificate(): { key: string; cert: string } {
  const about = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "365"];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const made = execFileSync("openssl", ["req", "-x509", ...kind, ...about, "-keyout", "-"], {
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
  const [key = "", cert = ""] = made.match(/-----BEGIN [\s\S]*?-----END [^-]*-----\n/g) ?? [];
  return { key, cert };
}
