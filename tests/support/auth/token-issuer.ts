import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { clock } from "@/tests/support/context";

type Claims = Record<string, unknown>;
/** How a token is signed: by default with the issuer's newest key. */
type Signing = { header?: object; sign?: (text: string) => Buffer };

/**
 * A local fake of the part of Apple or Google that a native app's sign-in needs: the metadata and the keys, over HTTP, and
 * ID tokens as the system hands them to an app.
 */
export class TokenIssuer {
  /** The paths that were requested. */
  readonly requests: string[] = [];
  /** "down": it responds to every request with 503. */
  mode: "up" | "down" = "up";
  /** What it returns instead of its metadata. */
  metadata: object | null = null;
  /** What it returns instead of its keys. */
  keysBody: string | null = null;
  /** Its URL. */
  origin = "";
  private keys: { kid: string; privateKey: KeyObject; publicKey: KeyObject }[] = [];
  private readonly server = createServer(({ url = "/" }, response) => this.respond(url, response));

  private constructor(private readonly id: "apple" | "google") {}

  static async start(id: "apple" | "google"): Promise<TokenIssuer> {
    const issuer = new TokenIssuer(id);
    issuer.rotateKey();
    issuer.server.listen(0, "127.0.0.1");
    await once(issuer.server, "listening");
    issuer.server.unref();
    issuer.origin = `http://127.0.0.1:${(issuer.server.address() as AddressInfo).port}`;
    return issuer;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Signs with a new key from now on. The old one is not published any more. */
  rotateKey(): void {
    this.keys = [{ kid: randomUUID(), ...generateKeyPairSync("rsa", { modulusLength: 2048 }) }];
  }

  /** The published key that signs, in PEM: what an attacker can know. */
  get publicKeyPem(): string {
    return this.key.publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** A new person's ID token for the app `com.example.acme`, with changed claims. `undefined` removes one. */
  token(nonce: string, change: Claims = {}, signing: Signing = {}): string {
    const iat = Math.floor(clock.now().getTime() / 1000);
    const claims = {
      iss: this.origin,
      aud: "com.example.acme",
      sub: randomUUID(),
      iat,
      exp: iat + 3600,
      nonce: this.id === "apple" ? createHash("sha256").update(nonce).digest("hex") : nonce,
      ...change,
    };
    const header = { alg: "RS256", kid: this.key.kid, ...signing.header };
    const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    const signature = signing.sign?.(signed) ?? sign("sha256", Buffer.from(signed), this.key.privateKey);
    return `${signed}.${signature.toString("base64url")}`;
  }

  private get key() {
    const [key] = this.keys;
    if (!key) throw new Error("The issuer has no key");
    return key;
  }

  private respond(path: string, response: ServerResponse): void {
    this.requests.push(path);
    if (this.mode === "down") return void response.writeHead(503).end();
    const keys = this.keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid, use: "sig" }));
    const metadata = this.metadata ?? { issuer: this.origin, jwks_uri: `${this.origin}/keys` };
    const body = path === "/keys" ? (this.keysBody ?? JSON.stringify({ keys })) : JSON.stringify(metadata);
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  }
}
