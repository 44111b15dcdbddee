import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { responders } from "@/app/routes.generated";
import { startBackground } from "@/lib/background";
import { composeContext } from "@/lib/compose";
import { type Context, setContext } from "@/lib/context";
import { loadConfig } from "@/lib/platform/config";
import { createRouteTable, findRoute, type Handlers } from "@/lib/platform/http/server/routes";
import type { Email } from "@/lib/platform/mail/emails";
import { installNetwork, type OutgoingRequest, type OutgoingResponse } from "@/tests/simulation/network";
import { BASE_URL } from "@/tests/support/base-url";
import { checkAnswer } from "./checks";

/** A request as it is sent: `body` is its bytes or its text. */
export type Sent = {
  method: string;
  target: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
};
// biome-ignore lint/suspicious/noExplicitAny: the body of any response
export type Answer = { status: number; headers: Headers; body: any };

export const BILLING_AUTHORIZATION = "Bearer the-billing-provider-of-the-fuzzer";
export const EMAIL_EVENTS_PASSWORD = "the-email-provider-of-the-fuzzer";
const ISSUER = "https://issuer.example.com";
const APPLE = "https://apple.example.com";
const APP_ID = "com.example.acme";
/** Emails to these addresses cannot be sent, and stay in the queue. */
const STUCK = /^stuck-/;
const REQUEST_MS = 120_000;

/** Every setting without which an operation answers that it is not there. */
const SETTINGS = {
  NEXTAUTH_URL: BASE_URL,
  NEXTAUTH_SECRET: "a-secret-for-the-fuzzer-that-is-long-enough",
  DATABASE_SYNC: "off",
  RATE_LIMITS: "off",
  LOG_LEVEL: "error",
  MAIL_FROM: "service@example.com",
  OAUTH_CLIENTS: JSON.stringify([
    { id: "desktop", name: "Desktop", redirectUris: ["http://127.0.0.1/callback"] },
    { id: "cli", name: "CLI", redirectUris: [] },
  ]),
  AUTH_PASSKEY_APPLE_APPS: `ABCDE12345.${APP_ID}`,
  AUTH_PASSKEY_ANDROID_APPS: `${APP_ID}=${Array(32).fill("14").join(":")}`,
  PASSKEY_RELATED_ORIGINS: "https://www.example.org",
  SECURITY_CONTACT: "security@example.com",
  AUTH_APPLE_ID: APP_ID,
  AUTH_APPLE_SECRET: "a-client-secret-that-was-made-before",
  AUTH_APPLE_NATIVE_IDS: APP_ID,
  AUTH_APPLE_ISSUER: APPLE,
  AUTH_GOOGLE_ID: APP_ID,
  AUTH_GOOGLE_SECRET: "a-secret",
  AUTH_GOOGLE_ISSUER: ISSUER,
  BILLING_WEBHOOK_AUTHORIZATION: BILLING_AUTHORIZATION,
  BILLING_API_KEY: "sk_of_the_fuzzer",
  BILLING_PAYLOAD_RETENTION_DAYS: "90",
  EMAIL_EVENTS_SECRET: EMAIL_EVENTS_PASSWORD,
  APNS_TEAM_ID: "A1B2C3D4E5",
};

/** Commands on the machine name the folder or the bucket of a backup. */
const BACKUPS = "/api/admin/backups";
const BUCKET = /^$|^s3:\/\/[^/]/;
const MAX_LOCATION_LENGTH = 1_000;

const table = createRouteTable(
  new Map([...responders].filter(([, responder]) => typeof responder === "object")),
  new Map(),
);
const signer = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** A service on an embedded database, with all its settings, and the internet around it. */
export class World {
  readonly outbox: Email[] = [];
  /** What the checks have found since the last request began. */
  faults: string[] = [];
  /** Requests, and those of them that were answered with a success and with a refusal, by operation and method. */
  onAnswer: (sent: Sent, answer: Answer, faults: string[]) => void = () => {};
  readonly #folder: string;
  readonly context: Context;
  #ips = 0;

  private constructor(folder: string, context: Context) {
    this.#folder = folder;
    this.context = context;
  }

  static async open(): Promise<World> {
    const folder = await mkdtemp(path.join(tmpdir(), "homeport-fuzz-"));
    installNetwork(respond);
    globalThis.fetch = fetchThere;
    const config = loadConfig({
      ...SETTINGS,
      DATA_DIR: folder,
      BACKUP_TO: path.join(folder, "backups"),
      RELEASE_MIRROR: path.join(folder, "mirror"),
    });
    let world: World | undefined;
    const write = (line: string) => world?.faults.push(`an error line: ${line}`);
    const log = pino({ level: "error" }, { write });
    const context = await composeContext(
      { ...config, BCRYPT_COST: 4 },
      {
        log,
        mailer: {
          mode: "smtp",
          send: async (email) => {
            if (STUCK.test(email.to)) throw Object.assign(new Error("The mail server is busy"), { code: "ESOCKET" });
            world?.outbox.push(email);
          },
          close: async () => {},
        },
      },
    );
    setContext(context);
    world = new World(folder, context);
    startBackground(context);
    return world;
  }

  async close(): Promise<void> {
    this.context.isDraining = true;
    await this.context.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Sends a request to its handler, and checks the response. */
  async send(sent: Sent): Promise<Answer> {
    const url = new URL(sent.target, BASE_URL);
    const found = findRoute(table, url.pathname);
    const handler = typeof found?.responder === "object" ? (found.responder as Handlers)[sent.method] : undefined;
    if (!found || !handler) throw new Error(`No route for ${sent.method} ${url.pathname}`);
    const { method, headers } = sent;
    const body = url.pathname === BACKUPS ? this.#withOwnFolder(sent.body) : sent.body;
    const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
    const request = new Request(url, { method, headers, ...(hasBody && { body, duplex: "half" }) } as RequestInit);
    this.#ips = (this.#ips + 1) % 60_000;
    const isLocal = headers.authorization?.includes(this.context.operatorKey?.text ?? "\0");
    const socketIp = isLocal ? "127.0.0.1" : `10.0.${this.#ips >> 8}.${this.#ips & 255}`;
    const answered = (async () => {
      const response = await handler(request, { params: Promise.resolve(found.params ?? {}), socketIp });
      return { response, text: await response.clone().text() };
    })();
    const outcome = await withTimeout(answered).catch((error: Error) => error);
    if (outcome instanceof Error) {
      this.onAnswer(sent, { status: 0, headers: new Headers(), body: "" }, [`no response: ${outcome.stack}`]);
      throw outcome;
    }
    const { response, text } = outcome;
    const faults = [...this.faults, ...(await checkAnswer(method, url.pathname, response, text))];
    this.faults = [];
    const isJson = response.headers.get("content-type")?.includes("json") && text !== "";
    const answer = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    this.onAnswer(sent, answer, faults);
    return answer;
  }

  /** The body with the folder of a backup below the world's own: another would stay, below the working directory for example. */
  #withOwnFolder(body: Sent["body"]): Sent["body"] {
    try {
      const given = JSON.parse(Buffer.from(body ?? "").toString());
      if (BUCKET.test(given.to.trim())) return body;
      const to = path.join(this.#folder, "named", path.resolve("/", given.to.trim()));
      return to.length > MAX_LOCATION_LENGTH ? body : JSON.stringify({ ...given, to });
    } catch {
      return body; // it names none
    }
  }

  /** What an email to somebody says that matches a pattern: its first group. */
  async emailed(to: string, pattern: RegExp): Promise<string> {
    for (let i = 0; i < 200; i++) {
      for (const email of this.outbox.toReversed()) {
        const [, found] = (email.to === to && pattern.exec(email.text)) || [];
        if (found !== undefined) return found;
      }
      this.context.emails.wake();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`No email to ${to} has ${pattern}`);
  }
}

async function withTimeout<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response in ${REQUEST_MS / 1000} s`)), REQUEST_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** An ID token of Apple, or of an issuer of CI jobs. */
export function idTokenOf(issuer: "apple" | "ci", claims: object): string {
  const iat = Math.floor(Date.now() / 1000);
  const usual = { iss: issuer === "apple" ? APPLE : ISSUER, aud: APP_ID, iat, exp: iat + 300 };
  const parts = [
    { alg: "RS256", kid: "1", typ: "JWT" },
    { ...usual, ...claims },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${signed}.${sign("sha256", Buffer.from(signed), signer.privateKey).toString("base64url")}`;
}

/** What the hosts of the internet answer: issuers of ID tokens, RevenueCat, and receivers that take everything. */
async function respond({ url }: OutgoingRequest): Promise<OutgoingResponse> {
  const json = (value: unknown) => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(value),
  });
  if (url.pathname.startsWith("/.well-known/")) {
    const endpoint = (name: string) => `${url.origin}/${name}`;
    return json({
      issuer: url.origin,
      jwks_uri: endpoint("keys"),
      authorization_endpoint: endpoint("authorize"),
      token_endpoint: endpoint("token"),
      id_token_signing_alg_values_supported: ["RS256"],
    });
  }
  if (url.pathname === "/keys")
    return json({ keys: [{ ...signer.publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }] });
  if (url.pathname.startsWith("/v1/subscribers/"))
    return json({
      request_date: new Date().toISOString(),
      subscriber: {
        original_app_user_id: "$RCAnonymousID:9c8b7a6f5e4d3c2b1a09f8e7d6c5b4a3",
        first_seen: "2026-01-01T09:00:00Z",
        management_url: null,
        entitlements: {},
        subscriptions: {},
        non_subscriptions: {},
      },
    });
  return { status: 204 };
}

/** What uses fetch reaches the same hosts. */
async function fetchThere(input: string | URL | Request): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const { status, headers, body } = await respond({ url, method: "GET", headers: {}, body: Buffer.alloc(0) });
  return new Response(body ?? null, { status, ...(headers && { headers }) });
}
