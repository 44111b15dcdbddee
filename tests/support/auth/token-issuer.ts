import { createHash, generateKeyPairSync, type KeyPairKeyObjectResult, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { jwtVerify } from "jose";
import { clock } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";

type Claims = Record<string, unknown>;
/** How a token is signed: by default with the issuer's newest key. */
type Signing = { header?: object; sign?: (text: string) => Buffer };

const APP_ID = "com.example.acme";
/** The key of the team that publishes the app, with which it proves its identity to Apple. */
const team = generateKeyPairSync("ec", { namedCurve: "P-256" });
/** The keys that issuers have at first. They are made once, because that takes a tenth of a second. */
const firstKeys = new Map<string, KeyPairKeyObjectResult>();
const TEAM = { AUTH_APPLE_TEAM_ID: "TEAM123456", AUTH_APPLE_KEY_ID: "KEY1234567" };

const newKey = () => generateKeyPairSync("rsa", { modulusLength: 2048 });

/**
 * A local fake of the part of Apple or Google that a native app's sign-in needs: the metadata and the keys, over HTTP, and
 * ID tokens as the system hands them to an app. Apple's has authorization codes, too.
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
  origin = "";
  /** The authorization codes that were not used, with the refresh tokens that Apple issues for them. */
  readonly codes = new Map<string, string>();
  /** The person that the codes belong to: by default the one of the newest ID token. */
  codeSubject: unknown;
  private keys: (KeyPairKeyObjectResult & { kid: string })[] = [];
  private readonly server = createServer((request, response) => void this.respond(request, response));

  private constructor(private readonly id: "apple" | "google") {}

  static async start(id: "apple" | "google"): Promise<TokenIssuer> {
    const issuer = new TokenIssuer(id);
    const key = firstKeys.get(id) ?? newKey();
    firstKeys.set(id, key);
    issuer.keys = [{ kid: randomUUID(), ...key }];
    const address = await listen(issuer.server);
    issuer.server.unref();
    issuer.origin = `http://${address}`;
    return issuer;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** The configuration of the team's key. */
  get teamVariables() {
    return { ...TEAM, AUTH_APPLE_SECRET: team.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  }

  /** Signs with a new key from now on. The old one is not published any more. */
  rotateKey(): void {
    this.keys = [{ kid: randomUUID(), ...newKey() }];
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
      aud: APP_ID,
      sub: randomUUID(),
      iat,
      exp: iat + 3600,
      nonce: this.id === "apple" ? createHash("sha256").update(nonce).digest("hex") : nonce,
      ...change,
    };
    this.codeSubject = claims.sub;
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

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "/" } = request;
    this.requests.push(path);
    if (this.mode === "down") return void response.writeHead(503).end();
    const { status, body } = path === "/token" ? await this.exchange(await text(request)) : this.describe(path);
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  }

  private describe(path: string) {
    const keys = this.keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid, use: "sig" }));
    const usual = { issuer: this.origin, jwks_uri: `${this.origin}/keys`, token_endpoint: `${this.origin}/token` };
    const body =
      path === "/keys" ? (this.keysBody ?? JSON.stringify({ keys })) : JSON.stringify(this.metadata ?? usual);
    return { status: 200, body };
  }

  /** Apple's token endpoint: a code works once, for the app that proves its identity by the team's key. */
  private async exchange(form: string) {
    const { client_id, client_secret = "", code = "", grant_type } = Object.fromEntries(new URLSearchParams(form));
    const expected = {
      issuer: TEAM.AUTH_APPLE_TEAM_ID,
      subject: APP_ID,
      audience: this.origin,
      currentDate: clock.now(),
    };
    const isApp = await jwtVerify(client_secret, team.publicKey, expected).then(
      () => client_id === APP_ID,
      () => false,
    );
    const refreshToken = grant_type === "authorization_code" ? this.codes.get(code) : undefined;
    if (!isApp || refreshToken === undefined) return { status: 400, body: '{"error":"invalid_grant"}' };
    this.codes.delete(code);
    const tokens = { refresh_token: refreshToken, id_token: this.token("", { sub: this.codeSubject }) };
    return { status: 200, body: JSON.stringify({ access_token: randomUUID(), ...tokens }) };
  }
}
