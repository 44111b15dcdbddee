import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";

/** Creates a signing key like those that Apple issues, with its public key, in PEM. */
export function newSigningKey(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** Creates a self-signed certificate for localhost with its key, in PEM. */
export function newCertificate(): { key: string; cert: string } {
  const certificateArgs = [
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-days",
    "365",
  ];
  const keyArgs = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const output = execFileSync("openssl", ["req", "-x509", ...keyArgs, ...certificateArgs, "-keyout", "-"], {
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
  const [key = "", cert = ""] = output.match(/-----BEGIN [\s\S]*?-----END [^-]*-----\n/g) ?? [];
  return { key, cert };
}
