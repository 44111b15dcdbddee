import { generateKeyPairSync, type KeyPairKeyObjectResult, randomUUID, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "@/tests/support/network/listen";

type Claims = Record<string, unknown>;
/** How a token is signed: by default with the issuer's newest key. */
type Signing = { header?: object; sign?: (text: string) => Buffer };

const newKey = () => ({ kid: randomUUID(), ...generateKeyPairSync("rsa", { modulusLength: 2048 }) });
/** The key that issuers have at first. It is made once, because that takes a tenth of a second. */
let firstKey: (KeyPairKeyObjectResult & { kid: string }) | undefined;

const COMMIT = "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b";

/** The claims of a job of acme/app that a pushed tag started (GitHub, "OpenID Connect reference"). */
export const GITHUB_CLAIMS = {
  sub: "repo:acme/app:ref:refs/tags/v1.2.0",
  repository: "acme/app",
  repository_id: "74",
  repository_owner: "acme",
  repository_owner_id: "65",
  repository_visibility: "private",
  actor: "ann",
  event_name: "push",
  head_ref: "",
  base_ref: "",
  ref: "refs/tags/v1.2.0",
  ref_type: "tag",
  sha: COMMIT,
  workflow: "Release",
  workflow_ref: "acme/app/.github/workflows/release.yml@refs/tags/v1.2.0",
  workflow_sha: COMMIT,
  job_workflow_ref: "acme/app/.github/workflows/release.yml@refs/tags/v1.2.0",
  job_workflow_sha: COMMIT,
  run_id: "4711",
  run_number: "12",
  run_attempt: "1",
  runner_environment: "github-hosted",
};

/** The claims of a job of the project acme/apps/app (GitLab, "ID token authentication"), for an issuer at `host`. */
export const gitlabClaims = (host: string) => ({
  sub: "project_path:acme/apps/app:ref_type:tag:ref:v1.2.0",
  namespace_id: "72",
  namespace_path: "acme/apps",
  project_id: "20",
  project_path: "acme/apps/app",
  user_login: "ann",
  pipeline_id: "574",
  pipeline_source: "push",
  job_id: "302",
  ref: "v1.2.0",
  ref_type: "tag",
  ref_path: "refs/tags/v1.2.0",
  ref_protected: "true",
  sha: COMMIT,
  ci_config_ref_uri: `${host}/acme/apps/app//.gitlab-ci.yml@refs/tags/v1.2.0`,
  ci_config_sha: COMMIT,
  runner_environment: "gitlab-hosted",
});

/**
 * A local fake of the issuer of ID tokens of GitHub Actions or GitLab: its metadata and keys over HTTP, and the endpoint at
 * which GitHub's jobs ask for their ID tokens. `claims` are those of the job that runs.
 */
export class CiIssuer {
  /** The paths that were requested. */
  readonly requests: string[] = [];
  /** "down": it responds to every request with 503. "silent": it does not respond. */
  mode: "up" | "down" | "silent" = "up";
  /** What it returns instead of its metadata or its keys. */
  metadata: object | null = null;
  keysBody: string | null = null;
  origin = "";
  claims: Claims = {};
  private key: KeyPairKeyObjectResult & { kid: string };
  private readonly requestToken = randomUUID();
  private readonly server = createServer((request, response) => this.respond(request, response));

  private constructor(private readonly now: () => Date) {
    firstKey ??= newKey();
    this.key = firstKey;
  }

  /** Starts an issuer whose tokens are issued at the time of `now`. */
  static async start(type: "github" | "gitlab", now = () => new Date()): Promise<CiIssuer> {
    const issuer = new CiIssuer(now);
    const address = await listen(issuer.server);
    issuer.server.unref();
    issuer.origin = `http://${address}`;
    issuer.claims = type === "github" ? GITHUB_CLAIMS : gitlabClaims(address);
    return issuer;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** What GitHub sets for a job with `id-token: write`. */
  get actionsVariables(): Record<string, string> {
    return {
      GITHUB_ACTIONS: "true",
      ACTIONS_ID_TOKEN_REQUEST_URL: `${this.origin}/idtoken?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: this.requestToken,
    };
  }

  /** Signs with a new key from now on. The old one is not published any more. */
  rotateKey(): void {
    this.key = newKey();
  }

  /** The published key, in PEM: what an attacker can know. */
  get publicKeyPem(): string {
    return this.key.publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** A new ID token of the job for a service, with changed claims. `undefined` removes one. */
  token(audience: string, change: Claims = {}, signing: Signing = {}): string {
    const iat = Math.floor(this.now().getTime() / 1000);
    const times = { iat, nbf: iat - 600, exp: iat + 300 };
    const claims = { iss: this.origin, aud: audience, jti: randomUUID(), ...times, ...this.claims, ...change };
    const header = { typ: "JWT", alg: "RS256", kid: this.key.kid, ...signing.header };
    const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    const signature = signing.sign?.(signed) ?? sign("sha256", Buffer.from(signed), this.key.privateKey);
    return `${signed}.${signature.toString("base64url")}`;
  }

  private respond({ url = "/", headers }: IncomingMessage, response: ServerResponse): void {
    this.requests.push(url);
    if (this.mode === "silent") return;
    if (this.mode === "down") return void response.writeHead(503).end();
    const { pathname, searchParams } = new URL(url, this.origin);
    const isJob = headers.authorization?.toLowerCase() === `bearer ${this.requestToken}`;
    if (pathname === "/idtoken" && !isJob) return void response.writeHead(401).end();
    const bodies: Record<string, () => string> = {
      "/.well-known/openid-configuration": () => JSON.stringify(this.metadata ?? this.ownMetadata()),
      "/.well-known/jwks": () => this.keysBody ?? JSON.stringify({ keys: [this.ownKey()] }),
      // Without an audience, GitHub takes the URL of the repository's owner.
      "/idtoken": () =>
        JSON.stringify({ value: this.token(searchParams.get("audience") ?? "https://github.com/acme") }),
    };
    const body = bodies[pathname];
    response.writeHead(body ? 200 : 404, { "content-type": "application/json" }).end(body?.() ?? "{}");
  }

  /** As GitHub's, without the endpoints of a sign-in. */
  private ownMetadata() {
    return {
      issuer: this.origin,
      jwks_uri: `${this.origin}/.well-known/jwks`,
      id_token_signing_alg_values_supported: ["RS256"],
    };
  }

  private ownKey() {
    return { ...this.key.publicKey.export({ format: "jwk" }), kid: this.key.kid, use: "sig", alg: "RS256" };
  }
}
