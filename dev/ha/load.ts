import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { initialPurchase } from "../revenuecat";

const TIMEOUT_MS = 15_000;
const PASSWORD = "correct horse battery";
const UPDATE_CHECK = "/api/version?platform=windows&product=core&architecture=x64";
const DOWNLOAD = "/api/download/windows?product=core&architecture=x64";

/** What is written: webhook deliveries by event, registrations by email, sign-ins by session. */
type Kind = "events" | "emails" | "sessions";

/**
 * Sends webhooks, registrations and sign-ins, each kind one after the other, and update checks and downloads beside them,
 * until `stop`. Knows which writes were acknowledged, how long none was, and which reads failed. `authorization` is the
 * webhook's.
 */
export class Load {
  /** The ids of what was acknowledged: it must be in the database from then on. */
  readonly acknowledged: Readonly<Record<Kind, Set<string>>> = {
    events: new Set(),
    emails: new Set(),
    sessions: new Set(),
  };
  readonly #lastAtMs: Record<Kind, number> = { events: Date.now(), emails: Date.now(), sessions: Date.now() };
  #longestGapMs = 0;
  #reads = 0;
  #failedReads: string[] = [];
  readonly #url: string;
  readonly #authorization: string;
  readonly #loops: Promise<void>[];
  #registered = "";
  #isStopped = false;

  constructor(url: string, authorization: string) {
    [this.#url, this.#authorization] = [url, authorization];
    this.#loops = [
      this.#write("events", 50, () => this.#deliver()),
      this.#write("emails", 300, () => this.#register()),
      this.#write("sessions", 300, () => this.#signIn()),
      this.#read(50, UPDATE_CHECK),
      this.#read(200, DOWNLOAD),
    ];
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }

  /** Forgets gaps and reads, not what was acknowledged. */
  reset(): void {
    [this.#longestGapMs, this.#reads, this.#failedReads] = [0, 0, []];
  }

  /** The longest time in which one kind of write was not acknowledged, up to now, and the reads. */
  summary(): { gapMs: number; reads: number; failedReads: string[] } {
    const sinceLast = Object.values(this.#lastAtMs).map((atMs) => Date.now() - atMs);
    return { gapMs: Math.max(this.#longestGapMs, ...sinceLast), reads: this.#reads, failedReads: this.#failedReads };
  }

  /** Whether every kind of write has been acknowledged since a time. */
  hasWritesSince(atMs: number): boolean {
    return Object.values(this.#lastAtMs).every((lastAtMs) => lastAtMs > atMs);
  }

  /** `send` resolves to the id of what was acknowledged. */
  async #write(kind: Kind, pauseMs: number, send: () => Promise<string | null>): Promise<void> {
    while (!this.#isStopped) {
      const id = await send().catch(() => null);
      if (id) {
        this.acknowledged[kind].add(id);
        this.#longestGapMs = Math.max(this.#longestGapMs, Date.now() - this.#lastAtMs[kind]);
        this.#lastAtMs[kind] = Date.now();
      }
      await delay(pauseMs);
    }
  }

  async #read(pauseMs: number, path: string): Promise<void> {
    while (!this.#isStopped) {
      const failure = await this.#download(path).catch((error: Error) => `${error.message} ${error.cause ?? ""}`);
      this.#reads += 1;
      if (failure) this.#failedReads.push(`${new Date().toISOString()} ${path} ${failure}`);
      await delay(pauseMs);
    }
  }

  async #download(path: string): Promise<string | null> {
    const response = await fetch(this.#url + path, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await response.arrayBuffer();
    return response.ok ? null : `status ${response.status}`;
  }

  async #post(path: string, body: object, headers = {}): Promise<Record<string, unknown> | null> {
    const response = await fetch(this.#url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const json = (await response.json()) as Record<string, unknown>;
    return response.ok ? json : null;
  }

  async #deliver(): Promise<string | null> {
    const headers = { authorization: this.#authorization };
    const event = initialPurchase(randomUUID());
    return (await this.#post("/api/subscription/billing-provider-webhook", { event }, headers)) && event.id;
  }

  async #register(): Promise<string | null> {
    const email = `${randomUUID()}@example.com`;
    if (!(await this.#post("/api/auth/register", { email, password: PASSWORD }))) return null;
    this.#registered = email;
    return email;
  }

  async #signIn(): Promise<string | null> {
    const signedIn = await this.#post("/api/auth/login", { email: this.#registered, password: PASSWORD });
    return (signedIn?.session as { id: string } | undefined)?.id ?? null;
  }
}
