import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { initialPurchase } from "../revenuecat";
import { type Kind, Measurements } from "./measurements";

const TIMEOUT_MS = 15_000;
const PASSWORD = "correct horse battery";
const UPDATE_CHECK = "/api/version?platform=windows&product=core&architecture=x64";
const DOWNLOAD = "/api/download/windows?product=core&architecture=x64";

/**
 * Sends webhooks, registrations and sign-ins, each kind one after the other, and update checks and downloads beside them,
 * until `stop`. `authorization` is the webhook's.
 */
export class Load {
  readonly measurements = new Measurements();
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

  /** `send` resolves to the id of what was acknowledged. */
  async #write(kind: Kind, pauseMs: number, send: () => Promise<string | null>): Promise<void> {
    while (!this.#isStopped) {
      const id = await send().catch(() => null);
      if (id) this.measurements.acknowledge(kind, id);
      await delay(pauseMs);
    }
  }

  async #read(pauseMs: number, path: string): Promise<void> {
    while (!this.#isStopped) {
      const failure = await this.#download(path).catch((error: Error) => `${error.message} ${error.cause ?? ""}`);
      this.measurements.countRead(failure && `${new Date().toISOString()} ${path} ${failure}`);
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
