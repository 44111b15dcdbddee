import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pLimit from "p-limit";
import { createRandom, type Random } from "@/tests/simulation/random";
import { type Actor, callFor, newActor, ROLES, type Role, STATES } from "./actors";
import { type Operation, operations } from "./api";
import { type Kitchen, type Made, recipes } from "./recipes";
import { addOptional, changed, type Draft, exampleOf, mutate, requestOf, vary } from "./requests";
import { type Answer, type Sent, World } from "./world";

const HELP = `Usage: npm run fuzz -- [--seeds 1] [--from N] [--requests 5000] [--minutes M] [--seed N] [--jobs N]

Sends requests that are made from public/openapi.json to the handlers of the service, on an embedded database: each
operation as its example shows it, then changed ones, by everybody and with sessions in every state. One seed gives the
same requests each time, except for the ids and tokens that the service makes. Several seeds run in as many processes as
there are processors, or in --jobs.`;

const { values: options } = parseArgs({
  options: {
    seeds: { type: "string", default: "1" },
    from: { type: "string" },
    requests: { type: "string", default: "5000" },
    minutes: { type: "string" },
    seed: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    help: { type: "boolean" },
  },
});

/** Others may have changed what a request needs: the newest release, for one. */
const MAX_ATTEMPTS = 3;
const MAX_ETAGS = 50;

type Row = { requests: number; success: number; refused: number };
const rows = new Map<string, Row>(operations.map(({ id }) => [id, { requests: 0, success: 0, refused: 0 }]));
const patterns = operations
  .map((operation) => ({ operation, pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/g, "[^/]+")}$`) }))
  .sort((a, b) => Number(a.operation.path.includes("{")) - Number(b.operation.path.includes("{")));
const totals = { requests: 0, faults: 0 };

/** Prints what is wrong with a response, with a command that sends the request again. */
function report(seed: number, sent: Sent, faults: string[]): void {
  for (const fault of faults) {
    totals.faults += 1;
    print(
      `\nFAULT at seed ${seed}: ${fault}\n  ${curlOf(sent)}\n  npm run fuzz -- --seed ${seed} --requests ${options.requests}`,
    );
  }
}

function curlOf({ method, target, headers, body }: Sent): string {
  // JSON's escapes are those of Bash, too.
  const quoted = (text: string) =>
    `$'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const text = typeof body === "string" ? body : body && Buffer.from(body).toString("latin1");
  const data =
    text === undefined ? "" : ` --data-binary ${quoted(text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text)}`;
  return `curl -X ${method} ${given.join(" ")} ${quoted(`http://localhost:3000${target}`)}${data}`;
}

function count({ method, target }: Sent, { status }: Answer): void {
  totals.requests += 1;
  const { pathname } = new URL(target, "http://localhost");
  const operation = patterns.find(
    ({ operation: one, pattern }) => one.method === method && pattern.test(pathname),
  )?.operation;
  const row = operation && rows.get(operation.id);
  if (!row) return;
  row.requests += 1;
  if (operation.isSuccess(status)) row.success += 1;
  else if (status >= 400) row.refused += 1;
}

/** The actors of a world: made when they are first needed, and again from time to time, because requests end their sessions. */
class Cast {
  readonly #actors = new Map<string, Promise<Actor>>();
  constructor(private readonly world: World) {}

  get(role: Role, state: Actor["state"] = "live", isCookie = false): Promise<Actor> {
    const key = `${role} ${state} ${isCookie}`;
    const known = this.#actors.get(key) ?? newActor(this.world, role, state, isCookie);
    this.#actors.set(key, known);
    return known;
  }

  forget(): void {
    this.#actors.clear();
  }
}

/** Who may use an operation, by its path and its security. */
function roleFor({ path, security }: Operation): Role {
  const schemes = security.flatMap((one) => Object.keys(one));
  if (!schemes.includes("bearer")) return "anonymous";
  return path.startsWith("/api/admin/") ? "admin" : "user";
}

/** A GET's recipe is its HEAD's, too; an OPTIONS needs any parameters. */
function recipeOf({ id, method, path }: Operation) {
  const other = operations.find((one) => one.path === path && one.method === "GET");
  return recipes[id] ?? (method === "HEAD" && other ? recipes[other.id] : undefined);
}

class Run {
  readonly #cast: Cast;
  /** The last request of each operation that was made to succeed. */
  readonly #made = new Map<string, { draft: Draft; actor: Actor }>();

  readonly #kitchen: Kitchen;
  #etags: string[] = [];

  constructor(private readonly world: World) {
    this.#cast = new Cast(world);
    this.#kitchen = {
      world,
      call: async (method, target, { headers, ...given } = {}) => {
        const admin = await this.#cast.get("admin");
        return (await callFor(world, method, target, { headers: { ...admin.headers, ...headers }, ...given })).body;
      },
    };
  }

  /** A request that the service should answer with a success. */
  async make(operation: Operation): Promise<{ draft: Draft; actor: Actor }> {
    const recipe = recipeOf(operation);
    const { as, ...change }: Made = recipe ? await recipe(this.#kitchen) : {};
    const actor = typeof as === "object" ? as : await this.#cast.get(as ?? roleFor(operation));
    const draft = changed(exampleOf(operation), change);
    if (["GET", "HEAD", "OPTIONS"].includes(operation.method))
      Object.assign(draft, { json: undefined, form: undefined });
    const made = { draft, actor };
    this.#made.set(operation.id, made);
    return made;
  }

  /** Each operation once as it should be: in any order. */
  async all(random: Random): Promise<void> {
    // A service with an admin makes no link for the first one.
    const isFirst = ({ id }: Operation) => id === "requestFirstOperatorLink";
    for (const operation of random.shuffle(operations).sort((a, b) => Number(isFirst(b)) - Number(isFirst(a))))
      for (let attempts = 0; attempts < MAX_ATTEMPTS && !(await this.#succeeds(operation)); attempts++);
  }

  async #succeeds(operation: Operation): Promise<boolean> {
    const { id, method, path } = operation;
    try {
      const { draft, actor } = await this.make(operation);
      const { status, body } = await this.world.send(requestOf(method, path, draft, actor.headers));
      if (!operation.isSuccess(status)) print(`${id} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
      return operation.isSuccess(status);
    } catch (error) {
      print(`${id}: ${(error as Error).message.slice(0, 500)}`);
      return false;
    }
  }

  /** One changed request. */
  async one(random: Random): Promise<void> {
    if (random.chance(0.003)) this.#cast.forget();
    const operation = random.pick(operations);
    try {
      const isNew = random.chance(0.05) || !this.#made.has(operation.id);
      const known = isNew ? await this.make(operation) : this.#made.get(operation.id);
      if (known) await this.#send(operation, known, random);
    } catch {
      this.#cast.forget(); // a response is reported; what a request needs could not be made
    }
  }

  async #send(operation: Operation, known: { draft: Draft; actor: Actor }, random: Random): Promise<void> {
    const draft = structuredClone(known.draft);
    const role = random.chance(0.4) ? null : random.pick(ROLES);
    const state = random.chance(0.7) ? "live" : random.pick(STATES);
    const actor = role === null ? known.actor : await this.#cast.get(role, state, random.chance(0.3));
    if (random.chance(0.2)) vary(draft, random, operation);
    if (random.chance(0.1)) for (const name of Object.keys(draft.params)) this.#borrow(draft, name, random);
    if (random.chance(0.05) && this.#etags.length > 0)
      draft.headers[random.pick(["if-match", "if-none-match", "if-range"])] = random.pick(this.#etags);
    addOptional(draft, random, operation);
    const method = random.chance(0.9) ? mutate(draft, random, operation) : operation.method;
    const { headers } = await this.world.send(requestOf(method, operation.path, draft, actor.headers));
    const etag = headers.get("etag");
    if (etag) this.#etags = [etag, ...this.#etags].slice(0, MAX_ETAGS);
  }

  /** Takes what another operation has in its path under this name. */
  #borrow(draft: Draft, name: string, random: Random): void {
    const others = [...this.#made.values()].filter((made) => made.draft.params[name] !== undefined);
    draft.params[name] = random.pick(others).draft.params[name] ?? "";
  }
}

async function runSeed(seed: number, until: number): Promise<void> {
  print(`seed ${seed}`);
  const startedMs = performance.now();
  const world = await World.open();
  const onRejection = (error: unknown) => world.faults.push(`nobody handled ${(error as Error)?.stack ?? error}`);
  process.on("unhandledRejection", onRejection);
  world.onAnswer = (sent, answer, faults) => {
    count(sent, answer);
    report(seed, sent, faults);
  };
  try {
    const run = new Run(world);
    await run.all(createRandom(seed));
    for (let i = 0; i < Number(options.requests) && performance.now() < until; i++)
      await run.one(createRandom(seed, i + 1));
  } finally {
    process.off("unhandledRejection", onRejection);
    await world.close();
  }
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  print(`seed ${seed}: ${totals.requests} requests, ${totals.faults} faults, ${seconds} s`);
}

/** Runs a seed in a process of its own, and adds what it has counted. */
async function forkSeed(seed: number, minutes: number): Promise<void> {
  const given = ["--seed", seed, "--requests", options.requests, "--minutes", minutes].map(String);
  const child = fork(fileURLToPath(import.meta.url), given);
  child.on("message", (counted: { rows: [string, Row][]; totals: typeof totals }) => {
    for (const name of ["requests", "faults"] as const) totals[name] += counted.totals[name];
    for (const [id, other] of counted.rows) {
      const row = rows.get(id) as Row;
      for (const name of ["requests", "success", "refused"] as const) row[name] += other[name];
    }
  });
  const [code, signal] = await once(child, "exit");
  if (code === 0 || code === 1) return;
  totals.faults += 1;
  print(`\nFAULT at seed ${seed}: the process ended with ${code ?? signal}`);
}

function printTable(): string[] {
  const row = (...[name, ...cells]: (string | number)[]) =>
    print(`${String(name).padEnd(46)}${cells.map((cell) => String(cell).padStart(10)).join("")}`);
  row("operation", "requests", "2xx", "4xx");
  for (const [id, { requests, success, refused }] of rows) row(id, requests, success, refused);
  return [...rows].filter(([, { success }]) => success === 0).map(([id]) => id);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function main(): Promise<number> {
  if (options.help) {
    print(HELP);
    return 0;
  }
  const startedMs = performance.now();
  const minutes = Number(options.minutes ?? Number.POSITIVE_INFINITY);
  const until = startedMs + minutes * 60_000;
  const isOne = options.seed !== undefined || options.seeds === "1";
  const from = Number(options.seed ?? options.from ?? Date.now() % 1_000_000_000);
  if (isOne) await runSeed(from, until);
  else {
    const seeds = Array.from({ length: Number(options.seeds) }, (_, index) => from + index);
    const leftMs = () => until - performance.now();
    const fork = async (seed: number) => leftMs() > 0 && forkSeed(seed, leftMs() / 60_000);
    await pLimit(Number(options.jobs)).map(seeds, fork);
  }
  if (process.send) {
    process.send({ rows: [...rows], totals });
    return 0;
  }
  const missing = printTable();
  const seconds = (performance.now() - startedMs) / 1000;
  print(
    `\n${totals.requests} requests of ${operations.length} operations in ${Math.round(seconds)} s, ` +
      `${Math.round(totals.requests / seconds)} a second, ${totals.faults} faults`,
  );
  if (missing.length > 0) print(`Never answered with a success: ${missing.join(", ")}`);
  return totals.faults + missing.length > 0 ? 1 : 0;
}

process.exit(await main());
