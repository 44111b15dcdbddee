import { generateKeyPairSync, sign } from "node:crypto";
import type { OutgoingResponse } from "./network";

export const GOOGLE_APP = "com.example.sim";

let key: ReturnType<typeof generateKeyPairSync> | undefined;

const signingKey = () => {
  key ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return key;
};

/** A sign-in provider. */
export class Google {
  readonly issuer = "https://accounts.google.com";

  /** Its metadata (OpenID Connect Discovery 1.0) and its keys (RFC 7517). */
  respond({ pathname }: URL): OutgoingResponse {
    const { issuer } = this;
    const jwk = { ...signingKey().publicKey.export({ format: "jwk" }), kid: "1", use: "sig" };
    const body = pathname.endsWith("/keys") ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` };
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  }

  /** An ID token, as it is given to an app. */
  idToken(nowMs: number, claims: Record<string, unknown>): string {
    const iat = Math.floor(nowMs / 1000);
    const parts = [
      { alg: "RS256", kid: "1" },
      { iss: this.issuer, aud: GOOGLE_APP, iat, exp: iat + 3600, ...claims },
    ];
    const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${signed}.${sign("sha256", Buffer.from(signed), signingKey().privateKey).toString("base64url")}`;
  }
}
