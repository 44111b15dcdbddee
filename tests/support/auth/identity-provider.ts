import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomUUID,
  sign,
  verify,
} from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "@/tests/support/network/listen";

type Id = "google" | "apple" | "github";
/** The person signed in at the provider. `claims` are the further claims of its ID token, or GitHub's user. */
export type Person = { sub: string; claims: Record<string, unknown>; emails?: GitHubEmail[] };
type GitHubEmail = { email: string; primary: boolean; verified: boolean };
type Grant = { redirectUri: string; challenge: string; nonce: string | undefined; person: Person };

const CLIENT_ID = "the-client";
const CLIENT_SECRET = "the-secret";
const apple = generateKeyPairSync("ec", { namedCurve: "P-256" });
/** The providers' keys. Each is made once, because that takes a tenth of a second. */
const keys = new Map<Id, KeyPairKeyObjectResult>();
const APPLE = { AUTH_APPLE_TEAM_ID: "TEAM123456", AUTH_APPLE_KEY_ID: "KEY1234567" };

/**
 * A local fake of a sign-in provider with the checks of a real one: the client secret (for Apple a JWT), the redirect
 * URI, the PKCE verifier, and that a code is used once. `person` signs in, `alterToken` changes the claims of ID tokens, and
 * `alterJwt` the tokens themselves.
 */
export class IdentityProvider {
  person: Person = { sub: randomUUID(), claims: {} };
  alterToken: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims;
  alterJwt: (jwt: string) => string = (jwt) => jwt;
  /** The access tokens and ID tokens that it has issued. */
  readonly issued: string[] = [];
  /** The outcomes of the requests to the token endpoint. */
  readonly exchanges: string[] = [];
  /** The refresh tokens that it issued, and those that it was asked to revoke. Apple has them alone. */
  readonly refreshTokens: string[] = [];
  readonly revoked: string[] = [];
  /** The status of its responses to revocations. */
  revocationStatus = 200;
  origin = "";

  private readonly key: KeyPairKeyObjectResult;
  private readonly grants = new Map<string, Grant>();
  private readonly tokens = new Map<string, Person>();
  private readonly pending = new Map<string, URLSearchParams>();
  private readonly server = createServer((request, response) => void this.respond(request, response));

  private constructor(
    readonly id: Id,
    private readonly redirectUri: string,
  ) {
    this.key = keys.get(id) ?? generateKeyPairSync("rsa", { modulusLength: 2048 });
    keys.set(id, this.key);
  }

  /** Starts a provider for a service at `baseUrl`. */
  static async start(id: Id, baseUrl: string): Promise<IdentityProvider> {
    const provider = new IdentityProvider(id, `${baseUrl}/api/auth/callback/${id}`);
    const address = await listen(provider.server);
    provider.server.unref();
    provider.origin = `http://${address}`;
    return provider;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** The environment variables that configure it. */
  get variables(): Record<string, string> {
    const name = `AUTH_${this.id.toUpperCase()}`;
    const pem = apple.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    return {
      [`${name}_ID`]: CLIENT_ID,
      [`${name}_SECRET`]: this.id === "apple" ? pem : CLIENT_SECRET,
      [`${name}_ISSUER`]: this.origin,
      ...(this.id === "apple" ? APPLE : {}),
    };
  }

  /** Signs `person` in by the button of its consent page. Returns the callback URL. */
  async approve(url: string): Promise<string> {
    const page = await (await fetch(url)).text();
    const ticket = /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const body = new URLSearchParams({ ticket });
    const response = await fetch(`${this.origin}/approve`, { method: "POST", body, redirect: "manual" });
    return response.headers.get("location") ?? formAsUrl(await response.text());
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.origin);
    const body = new URLSearchParams(await text(request));
    const route = `${request.method} ${url.pathname.replace("/login/oauth", "")}`;
    const routes: Record<string, () => void> = {
      "GET /.well-known/openid-configuration": () => json(response, 200, this.metadata()),
      "GET /keys": () =>
        json(response, 200, { keys: [{ ...jwk(this.key.publicKey), kid: "1", use: "sig", alg: "RS256" }] }),
      "GET /authorize": () => this.showConsent(url.searchParams, response),
      "POST /approve": () => this.grant(body.get("ticket") ?? "", response),
      "POST /token": () => this.exchange(request, body, response),
      "POST /auth/revoke": () => this.revoke(request, body, response),
      "POST /access_token": () => this.exchange(request, body, response),
      "GET /api/v3/user": () => this.describe(request, response, ({ sub, claims }) => ({ id: Number(sub), ...claims })),
      "GET /api/v3/user/emails": () => this.describe(request, response, ({ emails = [] }) => emails),
    };
    (routes[route] ?? (() => json(response, 404, {})))();
  }

  private metadata() {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      jwks_uri: `${this.origin}/keys`,
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["RS256"],
      token_endpoint_auth_methods_supported:
        this.id === "apple" ? ["client_secret_post"] : ["client_secret_post", "client_secret_basic"],
    };
  }

  /** Shows an error page for an invalid request: a browser is never redirected to an unregistered URL. */
  private showConsent(params: URLSearchParams, response: ServerResponse): void {
    const wrong = [
      params.get("client_id") !== CLIENT_ID && "client_id",
      params.get("redirect_uri") !== this.redirectUri && "redirect_uri",
      params.get("response_type") !== "code" && "response_type",
      params.get("code_challenge_method") !== "S256" && "code_challenge_method",
      !params.get("code_challenge") && "code_challenge",
      !params.get("state") && "state",
      this.id !== "github" && !params.get("nonce") && "nonce",
      this.id === "apple" && params.get("response_mode") !== "form_post" && "response_mode",
    ].filter(Boolean);
    if (wrong.length > 0) return void page(response, 400, `<p>Wrong: ${wrong.join(", ")}</p>`);
    const ticket = randomUUID();
    this.pending.set(ticket, params);
    const button = `<button>Continue with ${this.id}</button>`;
    page(
      response,
      200,
      `<form method="post" action="/approve"><input type="hidden" name="ticket" value="${ticket}">${button}</form>`,
    );
  }

  private grant(ticket: string, response: ServerResponse): void {
    const params = this.pending.get(ticket);
    if (!params) return void json(response, 400, {});
    const code = randomUUID();
    this.grants.set(code, {
      redirectUri: params.get("redirect_uri") ?? "",
      challenge: params.get("code_challenge") ?? "",
      nonce: params.get("nonce") ?? undefined,
      person: this.person,
    });
    const fields: Record<string, string> = { code, state: params.get("state") ?? "" };
    if (this.id === "github") fields.iss = `${this.origin}/login/oauth`; // RFC 9207
    if (this.id === "apple") return void page(response, 200, autoSubmit(this.redirectUri, fields));
    response.writeHead(302, { location: `${this.redirectUri}?${new URLSearchParams(fields)}` }).end();
  }

  private exchange(request: IncomingMessage, body: URLSearchParams, response: ServerResponse): void {
    const code = body.get("code") ?? "";
    const grant = this.grants.get(code);
    this.grants.delete(code);
    const challenge = createHash("sha256")
      .update(body.get("code_verifier") ?? "")
      .digest("base64url");
    const fault = !this.knowsClient(request, body)
      ? "invalid_client"
      : !grant || grant.redirectUri !== body.get("redirect_uri") || grant.challenge !== challenge
        ? "invalid_grant"
        : null;
    this.exchanges.push(fault ?? "ok");
    if (fault || !grant) return void json(response, fault === "invalid_client" ? 401 : 400, { error: fault });
    const token = randomUUID();
    this.tokens.set(token, grant.person);
    const idToken = this.id === "github" ? {} : { id_token: this.idToken(grant) };
    const refreshToken = this.id === "apple" ? { refresh_token: `r.${randomUUID()}` } : {};
    this.refreshTokens.push(...Object.values(refreshToken));
    this.issued.push(token, ...Object.values(idToken), ...Object.values(refreshToken));
    json(response, 200, { access_token: token, token_type: "bearer", ...refreshToken, ...idToken });
  }

  /** Sign in with Apple REST API, "Revoke tokens": a token that is revoked already is no error. */
  private revoke(request: IncomingMessage, body: URLSearchParams, response: ServerResponse): void {
    const isKnown = this.knowsClient(request, body) && body.get("token_type_hint") === "refresh_token";
    const status = isKnown ? this.revocationStatus : 400;
    if (status === 200) this.revoked.push(body.get("token") ?? "");
    response.writeHead(status).end();
  }

  private knowsClient({ headers }: IncomingMessage, body: URLSearchParams): boolean {
    const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? "") ?? [];
    const [id, secret] = basic
      ? Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent)
      : [body.get("client_id"), body.get("client_secret")];
    if (id !== CLIENT_ID) return false;
    return this.id === "apple" ? isAppleSecret(secret ?? "", this.origin) : secret === CLIENT_SECRET;
  }

  private idToken({ nonce, person }: Grant): string {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: this.origin, aud: CLIENT_ID, sub: person.sub, iat, exp: iat + 600, nonce, ...person.claims };
    const signed = [{ alg: "RS256", kid: "1" }, this.alterToken(claims)].map(encoded).join(".");
    return this.alterJwt(`${signed}.${sign("sha256", Buffer.from(signed), this.key.privateKey).toString("base64url")}`);
  }

  private describe({ headers }: IncomingMessage, response: ServerResponse, toBody: (person: Person) => unknown): void {
    const person = this.tokens.get(headers.authorization?.replace("Bearer ", "") ?? "");
    if (!person) return void json(response, 401, {});
    json(response, 200, toBody(person));
  }
}

/** Apple's rules for client secrets: signed with ES256 by the team's key, for this client and Apple, not expired. */
function isAppleSecret(jwt: string, audience: string): boolean {
  const [header = "", claims = "", signature = ""] = jwt.split(".");
  const { alg, kid } = decoded(header);
  const { iss, sub, aud, exp, iat } = decoded(claims);
  const now = Date.now() / 1000;
  const key = { key: createPublicKey(apple.privateKey), dsaEncoding: "ieee-p1363" as const };
  return (
    verify("sha256", Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, "base64url")) &&
    alg === "ES256" &&
    kid === APPLE.AUTH_APPLE_KEY_ID &&
    iss === APPLE.AUTH_APPLE_TEAM_ID &&
    sub === CLIENT_ID &&
    aud === audience &&
    Number(iat) <= now + 60 &&
    Number(exp) > now
  );
}

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");
const decoded = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
const jwk = (key: KeyObject): JsonWebKey => key.export({ format: "jwk" });

/** Apple's page, which posts the response by a script. */
function autoSubmit(action: string, fields: Record<string, string>): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
  return `<form method="post" action="${action}">${inputs.join("")}</form><script>document.forms[0].submit()</script>`;
}

/** The same response as a URL: the form's action with the fields as its query. */
function formAsUrl(html: string): string {
  const fields = [...html.matchAll(/name="([^"]+)" value="([^"]+)"/g)].map(([, name = "", value = ""]) => [
    name,
    value,
  ]);
  return `${/action="([^"]+)"/.exec(html)?.[1]}?${new URLSearchParams(fields)}`;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function page(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/html" }).end(`<!doctype html>${body}`);
}
