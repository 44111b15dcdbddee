import { AsyncLocalStorage } from "node:async_hooks";
import { createECDH, createHmac } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  DriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQueryable,
} from "@prisma/driver-adapter-utils";
import { pino } from "pino";
import { responders } from "@/app/routes.generated";
import { authority, TEAM_ID } from "@/dev/app-attest/app-attest";
import { startBackground } from "@/lib/background";
import { composeContext } from "@/lib/compose";
import type { Context } from "@/lib/context";
import type { Notification, PushResponse } from "@/lib/platform/adapters/push-transport";
import { restoreEmbedded } from "@/lib/platform/backup/restore";
import { loadConfig } from "@/lib/platform/config";
import { databaseNow } from "@/lib/platform/db/clock";
import type { CopySnapshot, Table } from "@/lib/platform/db/copy";
import { EmbeddedUnavailableError } from "@/lib/platform/db/embedded/failures";
import { openEmbedded } from "@/lib/platform/db/embedded/open";
import { NIL_ID } from "@/lib/platform/db/ids";
import { type Database, databaseOf } from "@/lib/platform/db/open";
import { isNoSpace } from "@/lib/platform/files/no-space";
import { createRouteTable, findRoute, type Handlers } from "@/lib/platform/http/server/routes";
import type { Email } from "@/lib/platform/mail/emails";
import { decrypt } from "@/tests/support/push/decrypt";
import { answerOf, fakeAppStore, fakePaddle, fakeStripe } from "@/tests/support/subscriptions/provider-api";
import { providerSettings } from "@/tests/support/subscriptions/provider-objects";
import { CiIssuer } from "./ci-issuer";
import { disk } from "./disk";
import { Google } from "./google";
import { machine } from "./machine";
import type { Delivery } from "./model/webhooks";
import { installNetwork, type OutgoingRequest, type OutgoingResponse } from "./network";
import { ObjectStorage } from "./object-storage";
import { createRandom, type Random } from "./random";

const BASE_URL = "https://sim.example.com";
/** The APIs of Stripe, Paddle and the App Store. */
const BILLING_API_URL = "https://billing.example.com";

const BACKUP_BUCKET = "s3://backups/sim";
const BACKUP_SCHEDULE = "*/30 * * * *";
/** For how many days the newest backup is kept. */
export const BACKUP_DAYS = 2;
const MIRROR_BUCKET = "s3://mirror/sim";
/** Of what clients request from it. */
const MIRRORED_KEYS = "mirror/sim/api/updates/";

const DAY_MS = 86_400_000;
/** What is removed at the latest a day after it has expired. */
const EXPIRING =
  `Session SignInThrottle RecognizedClient PasswordResetToken Invitation VerificationToken SignInChallenge
  TotpFactor PasskeyChallenge EmailChange AuthorizationCode DeviceCode IdempotentRequest UsedIdToken
  RateLimitCounter`.split(/\s+/);

/** What is removed at the latest so many days after what its condition names. */
const REMOVED: [table: string, days: number, where: string][] = [
  ["PushReceipt", 32, '"endedAt" < $1'],
  ["PushMessage", 32, '"expiresAt" < $1'],
  ["PushOutcomeCount", 32, `"hour" < $1 AND "messageId" = '${NIL_ID}'`],
  ["PushChallenge", 3, '"expiresAt" < $1'],
  ["PushDevice", 3, `status = 'pending' AND "registeredAt" < $1`],
  ["WebhookEvent", 32, '"occurredAt" < $1'],
  ["AuditEvent", 9, `type = 'sign_in_failed' AND "accountId" IS NULL AND at < $1`],
];
/** What may name a deleted account: the event that says so, the responses of a day, and events of purchases that nobody knew. */
const MAY_NAME_DELETED = ["WebhookEvent", "IdempotentRequest", "BillingEvent", "Purchase"];

const OAUTH_CLIENTS = [
  { id: "desktop", name: "Desktop", redirectUris: ["com.example.sim:/callback"] },
  { id: "cli", name: "CLI", redirectUris: [] },
];

/** Every browser has the same keys. */
const browser = createECDH("prime256v1");
browser.setPrivateKey(Buffer.alloc(32, 7));
const BROWSER_AUTH = Buffer.alloc(16, 9);
export const BROWSER_KEYS = { p256dh: browser.getPublicKey("base64url"), auth: BROWSER_AUTH.toString("base64url") };
type WebhookEvent = { type: string; data: Record<string, unknown> | null };
/** What devices get: a browser the text, a phone an alert. */
type Payload = {
  body?: string;
  aps?: { alert?: { body?: string }; "content-state"?: { text?: string } };
  data?: { challengeId?: string; nonce?: string; version?: string };
};

/** Has the form of bcrypt's, and takes no time. */
export const fakeHash = (password: string) =>
  `$2b$04$${Buffer.from(password).toString("base64url").padEnd(53, ".").slice(0, 53)}`;

/** A place where code of the service waits for something outside of it, until the simulation lets it go on. */
export type Gate = {
  port: Port;
  detail: string;
  operation: string;
  /** Of the request that waits; 0: of none. */
  number: number;
  process: Process;
  resume: (fault: Fault | null) => void;
};
export type Port = "statement" | "commit" | "sync" | "file" | "mail" | "push" | "fetch";
export type Fault = "before" | "after" | "conflict" | "refused" | "denied" | "timeout" | "busy";

/** Which faults a port can have. `after`: it took effect although it failed. */
const FAULTS: Record<Port, readonly Fault[]> = {
  statement: ["before", "conflict", "after"],
  commit: ["before", "after", "conflict"],
  sync: [],
  file: [],
  mail: ["refused", "denied", "after", "timeout", "busy"],
  push: ["refused", "denied", "after", "timeout", "busy"],
  fetch: ["refused", "denied", "after", "timeout", "busy"],
};

/** What nodemailer says of a mail server that is busy, and of one that does not take the sender. */
const MAIL_ERRORS: Partial<Record<Fault, object>> = {
  busy: { code: "EENVELOPE", command: "RCPT TO", responseCode: 451 },
  denied: { code: "EENVELOPE", command: "MAIL FROM", responseCode: 550 },
};
const SOCKET_ERROR = { code: "ESOCKET" };

/** A process of the service. Its clock is off by so much. When it ends, what its code waits for never happens. */
export class Process {
  isAlive = true;
  clockOffMs = 0;
  context!: Context;
}

/** What the code that runs now belongs to. */
type Scope = { operation: string; process: Process; number: number; random?: Random };
const scope = new AsyncLocalStorage<Scope>();
machine.process = () => scope.getStore()?.process;
const randomOfMachine = machine.random;
machine.random = () => scope.getStore()?.random ?? randomOfMachine();

const table = createRouteTable(
  new Map([...responders].filter(([, responder]) => typeof responder === "object")),
  new Map(),
);

export type Sent = {
  method?: string;
  json?: unknown;
  form?: Record<string, string>;
  body?: string;
  token?: string;
  cookie?: string;
  /** Who runs a command on this machine. */
  operator?: string;
  headers?: Record<string, string>;
};
// biome-ignore lint/suspicious/noExplicitAny: the body of any response
export type Answer = { status: number; body: any; headers: Headers };

export class World {
  readonly folder: string;
  gates: Gate[] = [];
  process = new Process();
  /** How soon all processes have read what one of them has changed, of what each keeps in memory. */
  readonly followMs: number = 0;
  /** How many faults there were, and how many before anything that is under way began. */
  faults = 0;
  faultsAtRest = 0;
  /** When time has last passed while something was under way. */
  delayedAtMs = 0;
  /** What has arrived. `since`: the faults when it was claimed and sent, or null if the service may not know that it has arrived. */
  outbox: { email: Email; id: string; sentAtMs: number; since: number | null }[] = [];
  /** Called for each fault that happens. */
  onFault: (operation: string, fault: string, detail: string) => void = () => {};
  /** What a device has got, by its endpoint or token, and when it was sent. */
  onNotification: (address: string, text: string, sentAtMs: number, since: number | null) => void = () => {};
  /** The devices whose app was removed, and when. */
  readonly gone = new Map<string, number>();
  /** The nonces that phones have got, by challenge. */
  readonly nonces = new Map<string, string>();
  onWebhook: (id: string, event: WebhookEvent, delivery: Delivery, since: number | null) => void = () => {};
  /** What customers buy, and what the providers' APIs answer. */
  readonly stores = { stripe: fakeStripe(), paddle: fakePaddle(), appStore: fakeAppStore() };
  readonly origin = BASE_URL;
  readonly google = new Google();
  readonly ci = new CiIssuer();
  /** Where the files of some releases are, in some seeds. */
  readonly storage: ObjectStorage;
  /** Where the mirror of releases is, as the seed says; null: there is none. */
  readonly mirror: string | null;
  readonly #backups: string | null;
  readonly billingAuthorization = "Bearer the-simulated-billing-provider";
  log: string[] = [];
  /** How many requests were sent. */
  requests = 0;
  fatal: string | null = null;
  /** How many requests were answered. */
  answers = 0;
  /** The requests since the service was last started. */
  #sent: WeakRef<Request>[] = [];
  #ips = 0;

  constructor(folder: string, seed: number) {
    this.folder = folder;
    const random = createRandom(seed, 0x53);
    this.storage = new ObjectStorage(random);
    this.#backups = random.pick([null, null, path.join(folder, "backups"), BACKUP_BUCKET]);
    this.mirror = random.pick([null, null, path.join(folder, "mirror"), MIRROR_BUCKET]);
    disk.gate = async (port, detail) =>
      void (await this.#wait(scope.getStore()?.process ?? this.process, port, detail));
    installNetwork((request) => this.#respond(request));
    Object.defineProperty(globalThis, Symbol.for("homeport.context"), {
      get: () => scope.getStore()?.process.context ?? this.process.context,
      set: () => {},
      configurable: true,
    });
  }

  get context(): Context {
    return this.process.context;
  }

  /** Of all processes. */
  get contexts(): Context[] {
    return [this.context];
  }

  /** Starts the service. All that waited in the process before is gone. */
  async open(): Promise<void> {
    this.process.isAlive = false;
    this.gates = [];
    this.#sent = [];
    const process = new Process();
    this.process = process;
    const onFatal = (error: Error): never => {
      if (process.isAlive) this.fatal = error.message;
      throw error;
    };
    await this.finish(
      this.start(process, { DATA_DIR: this.folder }, async () => {
        const embedded = await openEmbedded(this.folder, true, { onFatal });
        const openSnapshot = async () => this.#observed(process, await embedded.openSnapshot());
        return databaseOf(this.adapter(process, embedded.adapter), { ...embedded, openSnapshot }, true);
      }),
    );
  }

  /** Starts a process of the service. */
  protected start(process: Process, settings: object, open: () => Promise<Database>): Promise<void> {
    return scope.run({ operation: "background", process, number: 0 }, async () => {
      const config = loadConfig({
        NEXTAUTH_URL: BASE_URL,
        NEXTAUTH_SECRET: "a-secret-for-simulations-that-is-long-enough",
        OAUTH_CLIENTS: JSON.stringify(OAUTH_CLIENTS),
        ...this.google.settings,
        ...(this.storage.hasReleases && { ...this.storage.settingsOf("RELEASE_S3_"), RELEASE_S3_BUCKET: "releases" }),
        ...(this.mirror === MIRROR_BUCKET && this.storage.settingsOf("RELEASE_S3_")),
        ...(this.mirror !== null && { RELEASE_MIRROR: this.mirror }),
        ...(this.backups !== null && { BACKUP_TO: this.backups, BACKUP_SCHEDULE, BACKUP_KEEP: `${BACKUP_DAYS}/0/0` }),
        ...(this.backups === BACKUP_BUCKET && this.storage.settingsOf("BACKUP_S3_")),
        BILLING_WEBHOOK_AUTHORIZATION: this.billingAuthorization,
        RATE_LIMITS: "off",
        MAIL_FROM: "service@example.com",
        LOG_LEVEL: "silent",
        ...settings,
      });
      const context = await composeContext(
        {
          ...config,
          ...providerSettings(BILLING_API_URL),
          BCRYPT_COST: 4,
          APNS_TEAM_ID: TEAM_ID,
          APP_ATTEST_ROOT_CA: authority.rootPem,
        },
        {
          database: await open(),
          now: () => new Date(),
          dbNow: databaseNow,
          log: this.#logger(),
          mailer: {
            mode: "smtp",
            send: async (email, id) => {
              const [sentAtMs, faults] = [machine.nowMs(), this.#undisturbedFaults()];
              const fault = await this.#wait(process, "mail", email.subject);
              if (fault === null || fault === "after")
                this.outbox.push({ email, id, sentAtMs, since: fault === null ? faults : null });
              if (fault === "timeout") await new Promise((resolve) => setTimeout(resolve, 10_000));
              if (fault) throw Object.assign(new Error("The mail server failed"), MAIL_ERRORS[fault] ?? SOCKET_ERROR);
            },
            close: async () => {},
          },
          push: { mode: "apns", send: (notification) => this.#apns(process, notification), close: () => {} },
        },
      );
      const hasher = context.hasher;
      await hasher.close();
      process.context = {
        ...context,
        hasher: {
          hash: async (password) => fakeHash(password),
          // An imported hash is stored in two parts.
          compare: async (password, hash) =>
            hash.replace("{raw}", "").replaceAll("$", "") === fakeHash(password).replaceAll("$", ""),
          isBusy: () => false,
          close: async () => {},
        },
      };
      startBackground(process.context);
    });
  }

  /** Lets the service run without faults until the promise is settled. */
  protected async finish(promise: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = promise.finally(() => {
      isDone = true;
    });
    done.catch(() => {}); // thrown below
    while (!isDone) {
      await this.quiet();
      const [gate] = this.gates;
      if (gate) this.releaseGate(gate, null);
      if (!isDone && this.gates.length === 0) await this.pass(1);
    }
    await done;
  }

  /** Resolves when all code of the service waits. */
  quiet(): Promise<void> {
    return machine.quiet();
  }

  async pass(ms: number): Promise<void> {
    machine.pass(ms);
  }

  /** The same once nothing is under way: what has been sent would be late. */
  async passAtRest(ms: number): Promise<void> {
    while (this.gates.length > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    await this.pass(ms);
  }

  /** The machine stops now, what was not synced is lost, and the service starts again. Returns what has happened. */
  async crash(random: Random): Promise<string> {
    const { pages, names } = await this.stop(random);
    await this.open().catch((error) => {
      if (!isNoSpace(error) && !(error instanceof EmbeddedUnavailableError && error.isStorageFull)) throw error;
      disk.free();
      return this.open();
    });
    return `the service is open again; ${pages} pages and ${names} names in folders were lost`;
  }

  /** The machine stops now. Returns what was lost. */
  async stop(random: Random) {
    this.process.isAlive = false;
    this.storage.damaged = null;
    this.gates = [];
    machine.clearTimers();
    await machine.quiet();
    const lost = disk.stop(random);
    this.fatal = null;
    return lost;
  }

  /** Lets waiting code go on. */
  releaseGate(gate: Gate, fault: Fault | null): void {
    this.gates = this.gates.filter((one) => one !== gate);
    gate.resume(fault);
  }

  /** The faults that the next released gate could have, if the n-th is released. */
  faultsOf(port: Port): readonly Fault[] {
    return FAULTS[port];
  }

  /** How many requests are in memory after all were answered. */
  async countRequests(): Promise<number> {
    await machine.collectGarbage();
    return this.#sent.filter((request) => request.deref() !== undefined).length;
  }

  /** How many rows of queues wait for something, and how many providers were not asked for what was lost until a time. */
  async countWork(calmFromMs: number): Promise<number> {
    const [row] = await this.context.db.$queryRaw<{ count: bigint }[]>`SELECT (SELECT count(*) FROM "QueuedEmail")
      + (SELECT count(*) FROM "BillingEvent" WHERE state IN ('received', 'failed') AND "nextAttemptAt" IS NOT NULL)
      + (SELECT count(*) FROM "BillingSweep" WHERE "readUntil" IS NULL OR "readUntil" < ${new Date(calmFromMs)})
      + (SELECT count(*) FROM "WebhookDelivery" WHERE "state" = 'pending')
      + (SELECT count(*) FROM "PushBroadcast" WHERE "endedAt" IS NULL)
      + (SELECT count(*) FROM "PushDelivery" WHERE state IN ('queued', 'sending')) + (SELECT count(*) FROM "QueuedPush") AS count`;
    return Number(row?.count);
  }

  /** The database writes its pages to their files, as it does by itself after 64 MB of log. It may be interrupted. */
  async checkpoint(): Promise<void> {
    await this.context.db.$executeRaw`CHECKPOINT`.catch(() => {});
  }

  /** The tables in which something has been expired for more than two days. */
  async expiredTables(): Promise<string[]> {
    const before = new Date(machine.nowMs() - 2 * DAY_MS);
    const counts = EXPIRING.map((table) => `SELECT '${table}' AS "table" FROM "${table}" WHERE "expiresAt" < $1`);
    const { db } = this.context;
    const rows = await db.$queryRawUnsafe<{ table: string }[]>(counts.join(" UNION "), before);
    for (const [table, days, where] of REMOVED) {
      const query = `SELECT '${table}' AS "table" FROM "${table}" WHERE ${where} LIMIT 1`;
      rows.push(...(await db.$queryRawUnsafe<{ table: string }[]>(query, new Date(machine.nowMs() - days * DAY_MS))));
    }
    return rows.map(({ table }) => table);
  }

  /** The rows with one of some texts. */
  async rowsWith(texts: string[]): Promise<string[]> {
    const { db } = this.context;
    const tables = await db.$queryRaw<{ name: string }[]>`
      SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL (${MAY_NAME_DELETED}::text[])`;
    const queries = tables.map(
      ({ name }) => `SELECT '${name} ' || one::text AS row FROM "${name}" AS one WHERE one::text LIKE ANY ($1::text[])`,
    );
    const patterns = texts.map((text) => `%${text}%`);
    const rows = await db.$queryRawUnsafe<{ row: string }[]>(queries.join(" UNION "), patterns);
    return rows.map(({ row }) => row);
  }

  /** Sends a request to the service, by the handler of its route. */
  async send(operation: string, method: string, target: string, sent: Sent = {}): Promise<Answer> {
    this.requests += 1;
    if (disk.isFull()) this.onFault(kindOf(operation), "disk full", "");
    const url = new URL(target, BASE_URL);
    const headers = new Headers(sent.headers);
    let body = sent.body;
    if (sent.json !== undefined) {
      headers.set("content-type", "application/json");
      body = JSON.stringify(sent.json);
    } else if (sent.form) {
      headers.set("content-type", "application/x-www-form-urlencoded");
      body = new URLSearchParams(sent.form).toString();
    }
    if (sent.token) headers.set("authorization", `Bearer ${sent.token}`);
    if (sent.cookie) headers.set("cookie", sent.cookie);
    const found = findRoute(table, url.pathname);
    const handler = typeof found?.responder === "object" ? (found.responder as Handlers)[method] : undefined;
    if (!found || !handler) throw new Error(`No route for ${method} ${url.pathname}`);
    const request = new Request(url, { method, headers, ...(body !== undefined && { body }) });
    this.#sent.push(new WeakRef(request));
    this.#ips = (this.#ips + 1) % 60_000;
    const socketIp = `10.0.${this.#ips >> 8}.${this.#ips & 255}`;
    const respond = async () => {
      const response = await handler(request, {
        params: Promise.resolve(found.params ?? {}),
        socketIp,
        ...(sent.operator && { operator: `operator:${sent.operator}` as const }),
      });
      const text = await response.text();
      this.answers += 1;
      const isJson = response.headers.get("content-type")?.includes("json");
      return { status: response.status, body: isJson && text ? JSON.parse(text) : text, headers: response.headers };
    };
    return this.within(kindOf(operation), respond);
  }

  /** Where backups are, as the seed says; null: there are none. A database server's are not made of simulated statements. */
  get backups(): string | null {
    return this.followMs === 0 ? this.#backups : null;
  }

  /** The backups that are there now, and unfinished ones, by name. */
  readBackups(): Map<string, Buffer> {
    if (this.backups === BACKUP_BUCKET) return this.storage.below("backups/sim/");
    return filesBelow(this.backups ?? "");
  }

  /** The names of temporary files that are there now. */
  temporaryFiles(): string[] {
    const folders = [this.folder, path.join(this.folder, "backups")].filter((folder) => existsSync(folder));
    return folders.flatMap((folder) => readdirSync(folder)).filter((name) => /\.(partial|tmp)$/.test(name));
  }

  /** The machine is lost, except for the files of releases, and the service starts on what a backup has. */
  async restore(backup: Buffer, random: Random): Promise<void> {
    await this.stop(random);
    for (const name of ["db", "secrets.json"]) rmSync(path.join(this.folder, name), { recursive: true });
    const read = async function* () {
      yield backup;
    };
    const command = { operation: "restore", process: new Process(), number: 0 };
    await this.finish(scope.run(command, () => restoreEmbedded({ read, identityFile: undefined }, this.folder)));
    await this.open();
  }

  /** What is on the mirror of releases now, by path. */
  readMirror(): Map<string, Buffer> {
    if (this.mirror === MIRROR_BUCKET) return this.storage.below(MIRRORED_KEYS);
    return filesBelow(path.join(this.mirror ?? "", "api/updates"));
  }

  /** Somebody changes a file on the mirror, or removes it. */
  changeMirror(at: string, bytes: Buffer<ArrayBuffer> | null): void {
    const { objects } = this.storage;
    const [key, file] = [MIRRORED_KEYS + at, path.join(this.mirror ?? "", "api/updates", at)];
    if (this.mirror !== MIRROR_BUCKET) bytes ? writeFileSync(file, bytes) : rmSync(file);
    else if (bytes) objects.set(key, { bytes, etag: `"damaged ${at}"`, headers: {} });
    else objects.delete(key);
  }

  /** What a client gets that follows a redirect to the object storage; null: there is no such object. */
  readStored(location: string): string | null {
    const { storage } = this;
    const { damaged } = storage;
    storage.damaged = null;
    const request = { url: new URL(location), method: "GET", headers: {}, body: Buffer.alloc(0) };
    const { status, body = "" } = storage.respond(request, machine.nowMs());
    storage.damaged = damaged;
    return status === 200 ? body.toString() : null;
  }

  /** Runs what a client sends in a process of the service. */
  protected within(operation: string, respond: () => Promise<Answer>, process = this.process): Promise<Answer> {
    const random = createRandom(randomOfMachine().below(2 ** 32), this.requests);
    return scope.run({ operation, process, number: this.requests, random }, respond);
  }

  /** What the hosts of the internet answer. */
  async #respond({ url, method, headers, body }: OutgoingRequest): Promise<OutgoingResponse> {
    const isPush = url.host === "updates.push.services.mozilla.com";
    const isGoogle = url.origin === this.google.issuer;
    const isCi = url.origin === this.ci.issuer;
    const isStorage = url.origin === this.storage.origin;
    const detail = isGoogle ? "Google" : url.host;
    const [sentAtMs, faults] = [machine.nowMs(), this.#undisturbedFaults()];
    const fault = await this.#wait(scope.getStore()?.process ?? this.process, isPush ? "push" : "fetch", detail);
    if (fault === "refused") throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    if (fault === "timeout") return new Promise(() => {});
    if (fault === "busy") return { status: 503, headers: { "retry-after": "30" } };
    if (fault === "denied") return { status: isPush ? 429 : 403 };
    if (isGoogle) {
      const answer = this.google.respond(url, body.toString(), machine.nowMs());
      if (fault === null) return answer;
    } else if (isStorage) {
      const answer = this.storage.respond({ url, method, headers, body }, machine.nowMs());
      if (fault === null) return answer;
    }
    if (isCi && fault === null) return this.ci.respond(url);
    if (url.origin === BILLING_API_URL) {
      const request = { url, method, authorization: headers.authorization, body: body.toString() };
      const { status, headers: given, body: json } = answerOf(this.stores)(request);
      if (fault !== "after") return { status, headers: given, body: JSON.stringify(json) };
    } else if (isPush) {
      if (this.gone.has(url.href)) return { status: 410 };
      this.#notify(
        url.href,
        JSON.parse(decrypt(body, browser, BROWSER_AUTH)),
        sentAtMs,
        fault === null ? faults : null,
      );
    } else if (!isGoogle && !isCi && !isStorage) {
      const { "webhook-id": id = "", "webhook-timestamp": claimedAt, "webhook-signature": signatures = "" } = headers;
      const text = body.toString();
      const isSigned = (secret: string) => {
        const hmac = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64"));
        return signatures.split(" ").includes(`v1,${hmac.update(`${id}.${claimedAt}.${text}`).digest("base64")}`);
      };
      const delivery = { claimedAtMs: 1_000 * Number(claimedAt), sentAtMs, isSigned };
      this.onWebhook(id, JSON.parse(text), delivery, fault === null ? faults : null);
    }
    if (fault === "after") throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    return { status: isPush ? 201 : 204 };
  }

  /** What APNs answers. */
  async #apns(process: Process, { token, body }: Notification): Promise<PushResponse> {
    const [sentAtMs, faults] = [machine.nowMs(), this.#undisturbedFaults()];
    const fault = await this.#wait(process, "push", "APNs");
    if (fault === "busy") return { status: 503, reason: "ServiceUnavailable" };
    if (fault === "denied") return { status: 403, reason: "ExpiredProviderToken" };
    if (fault === "timeout") await new Promise((resolve) => setTimeout(resolve, 10_000));
    if (fault === "refused" || fault === "timeout") throw new Error("APNs did not respond");
    const goneSinceMs = this.gone.get(token);
    if (goneSinceMs !== undefined) return { status: 410, reason: "Unregistered", timestamp: new Date(goneSinceMs) };
    this.#notify(token, JSON.parse(body), sentAtMs, fault === null ? faults : null);
    if (fault === "after") throw new Error("the connection was closed");
    return { status: 200, reason: null };
  }

  #notify(address: string, { body, aps, data }: Payload, sentAtMs: number, since: number | null): void {
    if (data?.challengeId && data.nonce) this.nonces.set(data.challengeId, data.nonce);
    const text = data?.version ?? body ?? aps?.["content-state"]?.text ?? aps?.alert?.body ?? "";
    this.onNotification(address, text, sentAtMs, since);
  }

  /** How often each type of event is in the audit trail, of the simulation's operator. */
  async auditCounts(): Promise<{ type: string; count: number }[]> {
    const rows = await this.context.db.$queryRaw<{ type: string; count: bigint }[]>`
      SELECT "type", count(*) FROM "AuditEvent" WHERE "actor" = 'operator:sim' GROUP BY "type" ORDER BY "type"`;
    return rows.map(({ type, count }) => ({ type, count: Number(count) }));
  }

  /** The texts that more than one message has. */
  async repeatedMessages(): Promise<string[]> {
    const rows = await this.context.db.$queryRaw<{ text: string }[]>`
      SELECT payload #>> '{aps,alert,body}' AS "text" FROM "PushMessage" WHERE "kind" = 'custom' GROUP BY 1
      HAVING count(*) > 1`;
    return rows.map(({ text }) => text);
  }

  /** null: something has failed since what is sent now was claimed, perhaps. */
  #undisturbedFaults(): number | null {
    return this.faults === this.faultsAtRest ? this.faults : null;
  }

  #wait(process: Process, port: Port, detail: string): Promise<Fault | null> {
    machine.activity();
    return new Promise((resolve) => {
      const { operation, number } = scope.getStore() ?? { operation: "background", number: 0 };
      if (!process.isAlive) return;
      this.gates.push({
        port,
        detail,
        operation,
        number,
        process,
        resume: (fault) => {
          machine.activity();
          if (fault) this.onFault(operation, `${port} ${fault}`, detail.replace(/\s+/g, " ").slice(0, 100));
          resolve(fault);
        },
      });
      // What Node does on its threads ends in any order.
      this.gates.sort((a, b) => a.number - b.number || (a.detail < b.detail ? -1 : Number(a.detail > b.detail)));
    });
  }

  /** What a backup reads, of one table after the other. */
  #observed(process: Process, snapshot: CopySnapshot): CopySnapshot {
    const wait = (detail: string) => this.#wait(process, "statement", detail);
    const read = async function* (table: Table) {
      if (await wait(`COPY ${table.name}`)) throw lostConnection();
      yield* snapshot.read(table);
    };
    return { ...snapshot, read };
  }

  /** The database, at whose statements the service waits, and which fails as the simulation says. */
  protected adapter(
    process: Process,
    inner: SqlMigrationAwareDriverAdapterFactory,
  ): SqlMigrationAwareDriverAdapterFactory {
    const run = async <T>(port: Port, detail: string, send: () => Promise<T>): Promise<T> => {
      const fault = await this.#wait(process, port, detail);
      if (fault === "before") throw lostConnection();
      if (fault === "conflict") throw conflict();
      const result = await send();
      if (fault === "after") throw lostConnection();
      return result;
    };
    const queryable = (of: SqlQueryable): SqlQueryable => ({
      provider: of.provider,
      adapterName: of.adapterName,
      queryRaw: (query) => run("statement", query.sql, () => of.queryRaw(query)),
      executeRaw: (query) => run("statement", query.sql, () => of.executeRaw(query)),
    });
    return {
      provider: inner.provider,
      adapterName: inner.adapterName,
      connectToShadowDb: inner.connectToShadowDb,
      connect: async () => {
        const adapter = await inner.connect();
        return {
          ...queryable(adapter),
          executeScript: (script) => adapter.executeScript(script),
          getConnectionInfo: () => adapter.getConnectionInfo?.() ?? { supportsRelationJoins: true },
          dispose: () => adapter.dispose(),
          startTransaction: async (level) => {
            const tx = await adapter.startTransaction(level);
            // After an error PostgreSQL accepts nothing but the transaction's end (SQLSTATE 25P02).
            let failure: unknown = null;
            let isConflict = false;
            // As a connection does, it processes one message after the other: a rollback waits for the statement before it.
            let last: Promise<unknown> = Promise.resolve();
            const inOrder = <T>(run: () => Promise<T>): Promise<T> => {
              const next = last.then(run);
              last = next.catch(() => {});
              return next;
            };
            const within: SqlQueryable = {
              provider: tx.provider,
              adapterName: tx.adapterName,
              queryRaw: (query) => inOrder(() => guarded(query.sql, () => tx.queryRaw(query))),
              executeRaw: (query) => inOrder(() => guarded(query.sql, () => tx.executeRaw(query))),
            };
            const guarded = async <T>(sql: string, send: () => Promise<T>): Promise<T> => {
              if (failure) throw isConflict ? aborted() : failure; // a lost connection stays lost
              const fault = await this.#wait(process, "statement", sql);
              if (!fault) return send();
              isConflict = fault === "conflict";
              failure = isConflict ? conflict() : lostConnection();
              throw failure;
            };
            const commit = async () => {
              const fault = failure ? null : await this.#wait(process, "commit", "COMMIT");
              if (fault === "before") failure = lostConnection();
              if (fault === "conflict") failure = conflict();
              if (failure) {
                await tx.rollback();
                throw failure;
              }
              await tx.commit();
              if (fault === "after") throw lostConnection();
            };
            return {
              ...within,
              options: tx.options,
              createSavepoint: (name) => tx.createSavepoint?.(name) ?? Promise.resolve(),
              rollbackToSavepoint: (name) => tx.rollbackToSavepoint?.(name) ?? Promise.resolve(),
              releaseSavepoint: (name) => tx.releaseSavepoint?.(name) ?? Promise.resolve(),
              rollback: () => inOrder(() => tx.rollback()),
              commit: () => inOrder(commit),
            };
          },
        };
      },
    };
  }

  #logger() {
    const { log } = this;
    return pino({ level: "error" }, { write: (line: string) => void log.push(line.trim()) });
  }
}

function filesBelow(root: string): Map<string, Buffer> {
  const entries = existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }) : [];
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [path.relative(root, file), readFileSync(file)]));
}

const kindOf = (operation: string) =>
  operation.replace(/ ?(?:of )?\b(?:(?:account|session|key) \d+|release [\w.-]+)/g, "");

const lostConnection = () => new DriverAdapterError({ kind: "ConnectionClosed" });
const conflict = () =>
  new DriverAdapterError({
    kind: "TransactionWriteConflict",
    originalCode: "40001",
    originalMessage: "could not serialize access",
  });
const aborted = () =>
  new DriverAdapterError({
    kind: "postgres",
    code: "25P02",
    severity: "ERROR",
    message: "current transaction is aborted",
    detail: undefined,
    column: undefined,
    hint: undefined,
  });
