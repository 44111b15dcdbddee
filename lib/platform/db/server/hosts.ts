import { Client } from "pg";

/** How long a host may take to report whether it accepts writes. Half the time that a connection may take. */
const PROBE_MS = 1_500;

/** As libpq names them: any primary, or one that accepts writes (PostgreSQL 17, 32.1.2 "target_session_attrs"). */
type HostKind = "primary" | "read-write";
const KINDS = {
  primary: { requirement: "is the primary", test: "pg_is_in_recovery()", refusal: "is a standby" },
  "read-write": {
    requirement: "accepts writes",
    // On for a standby, and for a server that was made read-only.
    test: "current_setting('transaction_read_only')::boolean",
    refusal: "is read-only",
  },
} as const;

/**
 * Returns the URL of a host of a kind: the first to say so, because a host that is down may take long to show it. A single
 * URL is not tested.
 * @throws Error with what is wrong with each host
 */
export async function findHost(urls: readonly string[], kind: HostKind): Promise<string> {
  const [only] = urls;
  if (urls.length === 1 && only !== undefined) return only;
  try {
    return await Promise.any(urls.map((url) => requireKind(url, kind)));
  } catch (error) {
    const reasons = (error as AggregateError).errors.map(({ message }: Error) => message);
    throw new Error(`no host of the database ${KINDS[kind].requirement}: ${reasons.join("; ")}`);
  }
}

/** @throws Error that names the host */
async function requireKind(url: string, kind: HostKind): Promise<string> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: PROBE_MS,
    query_timeout: PROBE_MS,
    application_name: "homeport-probe",
  });
  client.on("error", () => {}); // the query rejects, too
  try {
    await client.connect();
    const { test, refusal } = KINDS[kind];
    const { rows } = await client.query<{ isRefused: boolean }>(`SELECT ${test} AS "isRefused"`);
    if (rows[0]?.isRefused !== false) throw new Error(refusal);
    return url;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${new URL(url).host} ${message || code}`);
  } finally {
    client.end().catch(() => {});
  }
}

/**
 * Returns a pool's client class whose connections lead to the host that accepts writes. The host is looked for before
 * the first connection, and again after a connection to it has failed.
 */
export function writableClient(urls: readonly string[]): typeof Client {
  let known: Promise<string> | undefined;
  return class extends Client {
    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      const connecting = this.connectToWritable();
      if (!callback) return connecting.then(() => this);
      connecting.then(() => (callback as () => void)(), callback);
    }

    private async connectToWritable(): Promise<void> {
      known ??= findHost(urls, "read-write");
      const used = known;
      try {
        const { host, port } = new Client({ connectionString: await used });
        Object.assign(this, { host, port });
        await this.connectToPrimary();
      } catch (error) {
        if (known === used) known = undefined;
        throw error;
      }
    }

    /** The server reports whether it is a standby when a connection begins (PostgreSQL 17, 53.2.7). */
    private async connectToPrimary(): Promise<void> {
      const { connection } = this as unknown as { connection: NodeJS.EventEmitter & { stream: NodeJS.ReadableStream } };
      if ((connection.stream as { destroyed?: boolean }).destroyed) {
        throw new Error("timeout exceeded when trying to connect"); // the pool has given up
      }
      let isStandby = false;
      connection.on("parameterStatus", ({ parameterName, parameterValue }) => {
        if (parameterName === "in_hot_standby") isStandby = parameterValue === "on";
      });
      await super.connect();
      if (!isStandby) return;
      this.end().catch(() => {});
      throw new Error(`${this.host}:${this.port} no longer accepts writes`);
    }
  };
}
