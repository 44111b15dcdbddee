import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { OutgoingResponse } from "./network";

const GOOGLE_APP = "com.example.sim";
const WEB_CLIENT = "sim.apps.example.com";

let key: ReturnType<typeof generateKeyPairSync> | undefined;

const signingKey = () => {
  key ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return key;
};

type Claims = Record<string, unknown>;

/** The key of all issuers (RFC 7517). */
export const published = () => ({
  keys: [{ ...signingKey().publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }],
});

/** A JSON Web Token (RFC 7519). */
export function signed(claims: Claims): string {
  const parts = [{ alg: "RS256", kid: "1" }, claims];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${sign("sha256", Buffer.from(text), signingKey().privateKey).toString("base64url")}`;
}

/** A sign-in provider, for apps and for browsers. */
export class Google {
  readonly issuer = "https://accounts.google.com";
  readonly settings = {
    AUTH_GOOGLE_ISSUER: this.issuer,
    AUTH_GOOGLE_NATIVE_IDS: GOOGLE_APP,
    AUTH_GOOGLE_ID: WEB_CLIENT,
    AUTH_GOOGLE_SECRET: "the-secret-of-the-web-client",
  };
  /** What the codes that browsers have got are exchanged for. */
  readonly #codes = new Map<string, { challenge: string | null; claims: Claims }>();

  respond(url: URL, body: string, nowMs: number): OutgoingResponse {
    const answer = this.#answer(url, new URLSearchParams(body), nowMs);
    const status = "error" in answer ? 400 : 200;
    return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
  }

  /** Its metadata (OpenID Connect Discovery 1.0), its keys (RFC 7517), and an ID token for a code and its verifier (RFC 7636). */
  #answer({ pathname }: URL, form: URLSearchParams, nowMs: number): object {
    const { issuer } = this;
    if (pathname.endsWith("/keys")) return published();
    if (pathname.endsWith("/token")) {
      const code = form.get("code") ?? "";
      const granted = this.#codes.get(code);
      this.#codes.delete(code);
      const verifier = createHash("sha256").update(form.get("code_verifier") ?? "");
      if (!granted || granted.challenge !== verifier.digest("base64url")) return { error: "invalid_grant" };
      const idToken = this.idToken(nowMs, { aud: WEB_CLIENT, ...granted.claims });
      return { access_token: code, token_type: "Bearer", id_token: idToken };
    }
    const at = (name: string) => `${issuer}/${name}`;
    return { issuer, authorization_endpoint: at("authorize"), token_endpoint: at("token"), jwks_uri: at("keys") };
  }

  /** Somebody signs in on its page. Returns the path and query to which it sends the browser back. */
  approve(page: string, code: string, claims: Claims): string {
    const { searchParams } = new URL(page);
    const given = (name: string) => searchParams.get(name);
    this.#codes.set(code, { challenge: given("code_challenge"), claims: { nonce: given("nonce"), ...claims } });
    const { pathname } = new URL(given("redirect_uri") ?? "");
    return `${pathname}?${new URLSearchParams({ code, state: given("state") ?? "" })}`;
  }

  /** An ID token, as it is given to an app. */
  idToken(nowMs: number, claims: Claims): string {
    const iat = Math.floor(nowMs / 1000);
    return signed({ iss: this.issuer, aud: GOOGLE_APP, iat, exp: iat + 3600, ...claims });
  }
}
