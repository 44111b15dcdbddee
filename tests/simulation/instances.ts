import path from "node:path";
import type { PrismaPg } from "@prisma/adapter-pg";
import type { SqlMigrationAwareDriverAdapterFactory, SqlQuery, SqlQueryable } from "@prisma/driver-adapter-utils";
import { Client, type Pool } from "pg";
import { createDatabase } from "@/dev/postgres";
import { databaseOf, serverParts } from "@/lib/platform/db/open";
import { postgresAdapter } from "@/lib/platform/db/server/adapter";
import { SERVICE_LIMITS } from "@/lib/platform/db/time-limits";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { disk } from "./disk";
import { machine } from "./machine";
import { createRandom, type Random } from "./random";
import { type Answer, Process, World } from "./world";

/** A PostgreSQL server, and the migrated database on it that each seed copies. */
export type Server = { url: string; template: string };

const POOL_SIZE = 10;
/** After how long PostgreSQL looks for a deadlock. */
const DEADLOCK_MS = 20;
/** How far the clock of a process can be off. */
const CLOCKS_OFF_MS = [0, 0, 700, -700, 5_000, -5_000];
/** How long a process that has ended stays away. */
const AWAY_MS = [10, 3_000, 40_000];
/** How soon an instance has read what another one has changed (docs/deploy.md "Use all cores"). */
const FOLLOW_MS = 10_000;

const SETTINGS = `-c search_path=public,pg_catalog -c deadlock_timeout=${DEADLOCK_MS}`;
const WAITING = "datname = current_database() AND wait_event_type = 'Lock'";

/** What pg does not declare of its clients. */
type Connection = { processID: number; connection: { stream: { destroy: () => void } } };

/** A process with its connections. */
class Instance extends Process {
  readonly connections = new Set<Connection>();
  /** How many of its statements wait for a connection. */
  waitingCount = () => 0;
  /** What clients see whose connection it ends with. */
  readonly lost: Promise<Answer>;
  #lose!: (answer: Answer) => void;

  constructor(readonly number: number) {
    super();
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  use(pool: Pool): void {
    this.waitingCount = () => pool.waitingCount;
    pool.on("connect", (client) => {
      this.connections.add(client as unknown as Connection);
      if (!this.isAlive) this.end();
    });
    pool.on("remove", (client) => void this.connections.delete(client as unknown as Connection));
  }

  end(): void {
    this.isAlive = false;
    // The server notices when it next reads or writes: a statement that runs now is not stopped.
    for (const { connection } of this.connections) connection.stream.destroy();
    this.#lose({ status: 503, body: { code: "connection_lost" }, headers: new Headers() });
  }
}

/**
 * Two processes of the service on one PostgreSQL. Requests go to either of them. Statements of both are at the server at
 * the same moment, and wait for each other's locks there.
 */
export class Instances extends World {
  override readonly followMs = FOLLOW_MS;
  readonly #server: Server;
  readonly #random: Random;
  #url = "";
  #observer!: Client;
  #instances: Instance[] = [];
  #started = 0;
  /** Statements at the server, by when they were sent. */
  readonly #sent = new Set<{ atMs: number }>();
  #ended = 0;
  #onEnd = () => {};

  constructor(folder: string, server: Server, seed: number) {
    super(folder, seed);
    this.#server = server;
    this.#random = createRandom(seed, 0x1257);
  }

  override get context() {
    return this.#random.pick(this.#ready).context;
  }

  override get contexts() {
    return this.#ready.map(({ context }) => context);
  }

  override async open(): Promise<void> {
    const url = new URL(await createDatabase(this.#server.url, this.#server.template));
    this.#observer = new Client({ connectionString: url.href });
    await this.#observer.connect();
    url.searchParams.set("options", SETTINGS);
    this.#url = url.href;
    await this.pass(1);
    await this.finish(writeSampleCatalog(path.join(this.folder, "releases", "catalog.json")));
    await this.finish(Promise.all([this.#startOne(), this.#startOne()]));
  }

  override async stop(random: Random) {
    for (const instance of this.#instances) instance.end();
    const lost = await super.stop(random);
    await this.#observer.end();
    const client = new Client({ connectionString: this.#server.url });
    await client.connect();
    await client.query(`DROP DATABASE ${new URL(this.#url).pathname.slice(1)} WITH (FORCE)`);
    await client.end();
    return lost;
  }

  async #startOne(): Promise<void> {
    const instance = new Instance(++this.#started);
    this.#instances.push(instance);
    instance.clockOffMs = this.#random.pick(CLOCKS_OFF_MS);
    const settings = { DATA_DIR: this.folder, DATABASE_URL: this.#url, DATABASE_POOL_SIZE: String(POOL_SIZE) };
    const adapter = this.#observed(
      instance,
      postgresAdapter(this.#url, POOL_SIZE, () => {}),
    );
    try {
      await this.start(instance, settings, async () =>
        databaseOf(this.adapter(instance, adapter), serverParts(this.#url), true),
      );
    } catch {
      this.#end(instance);
      setTimeout(() => void this.#startOne(), 1_000);
    }
  }

  /** Those that have started. */
  get #ready(): Instance[] {
    return this.#instances.filter(({ context }) => context !== undefined);
  }

  #end(instance: Instance): void {
    instance.end();
    disk.closeFilesOf(instance);
    this.#instances = this.#instances.filter((one) => one !== instance);
    this.gates = this.gates.filter(({ process }) => process !== instance);
  }

  /** One of two instances ends, and its connections are cut. The other one goes on. */
  override async crash(random: Random): Promise<string> {
    if (this.#ready.length < 2) return "the other instance is not back yet";
    const instance = random.pick(this.#ready);
    this.#end(instance);
    setTimeout(() => void this.#startOne(), random.pick(AWAY_MS));
    return `instance ${instance.number} has ended`;
  }

  protected override within(operation: string, respond: () => Promise<Answer>): Promise<Answer> {
    const instance = this.#random.pick(this.#ready);
    return Promise.race([super.within(operation, respond, instance), instance.lost]);
  }

  /** A statement that waits for a lock is not waited for. */
  override async quiet(): Promise<void> {
    for (let calm = 0; ; ) {
      await machine.quiet();
      if (this.#sent.size === 0) return;
      const ended = this.#ended;
      await Promise.race([machine.linger(), new Promise<void>((resolve) => (this.#onEnd = resolve))]);
      const isWaiting = ended === this.#ended && (await this.#isAllWaiting());
      calm = isWaiting && ended === this.#ended ? calm + 1 : 0;
      // Without anybody who could go on, they wait for each other: PostgreSQL ends one of them.
      if (calm > 0 && (this.gates.length > 0 || calm > DEADLOCK_MS)) return;
    }
  }

  async #isAllWaiting(): Promise<boolean> {
    const pids = this.#instances.flatMap(({ connections }) => [...connections].map(({ processID }) => processID));
    const { rows } = await this.#observer.query<{ count: number }>(
      `SELECT count(*)::int FROM pg_stat_activity WHERE pid = ANY($1) AND ${WAITING}`,
      [pids],
    );
    const forConnection = this.#instances.reduce((sum, one) => sum + one.waitingCount(), 0);
    return Number(rows[0]?.count) + forConnection >= this.#sent.size;
  }

  /** PostgreSQL ends a statement that has waited too long for a lock. */
  override async pass(ms: number): Promise<void> {
    const isLate = [...this.#sent].some(({ atMs }) => machine.elapsedMs() + ms - atMs >= SERVICE_LIMITS.lockMs);
    if (isLate) {
      await this.#observer.query(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`);
      await this.quiet();
    }
    machine.pass(ms);
    await this.#observer.query("SELECT setval('public.simulated_ms', $1)", [machine.nowMs()]);
  }

  /** The adapter of an instance's connections. What has ended with the instance never returns. */
  #observed(instance: Instance, inner: PrismaPg): SqlMigrationAwareDriverAdapterFactory {
    const send = async <T>(run: () => Promise<T>): Promise<T> => {
      const statement = { atMs: machine.elapsedMs() };
      this.#sent.add(statement);
      const result = await run().then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      this.#sent.delete(statement);
      this.#ended += 1;
      this.#onEnd();
      machine.activity();
      return instance.isAlive ? result() : new Promise(() => {});
    };
    const counted = <T extends SqlQueryable>(of: T): T =>
      Object.assign(Object.create(of), {
        queryRaw: (query: SqlQuery) => send(() => of.queryRaw(query)),
        executeRaw: (query: SqlQuery) => send(() => of.executeRaw(query)),
      });
    const connect = async () => {
      const adapter = await inner.connect();
      instance.use(adapter.underlyingDriver() as Pool);
      const startTransaction: typeof adapter.startTransaction = async (level) =>
        counted(await send(() => adapter.startTransaction(level)));
      return Object.assign(counted(adapter), { startTransaction });
    };
    return Object.assign(Object.create(inner), { connect });
  }
}
