import { Duplex } from "node:stream";
import { PGlite } from "@electric-sql/pglite";
import { PrismaPg } from "@prisma/adapter-pg";
import type { ArgScalarType, ArgType, SqlDriverAdapter, SqlQuery } from "@prisma/driver-adapter-utils";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedAdapter } from "@/lib/platform/db/embedded/adapter";
import { clientOf } from "@/lib/platform/db/embedded/client";

/** AuthenticationOk and ReadyForQuery (PostgreSQL 17, 53.7). */
const STARTED = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

/** A socket to a PGlite in this process, for node-postgres. */
class PgliteSocket extends Duplex {
  #isStarted = false;

  constructor(readonly pglite: PGlite) {
    super();
  }

  connect = () => void queueMicrotask(() => this.emit("connect"));
  setNoDelay = () => this;
  setKeepAlive = () => this;
  ref = () => this;
  unref = () => this;
  override _read() {}

  override _write(message: Buffer, _: BufferEncoding, done: () => void) {
    const isFirst = !this.#isStarted;
    this.#isStarted = true;
    const answer = isFirst ? Promise.resolve(STARTED) : this.pglite.execProtocolRaw(message);
    answer
      .then((bytes) => this.push(bytes))
      .then(
        () => done(),
        (error) => this.destroy(error),
      );
  }
}

const TYPES = {
  bool: ["true", "false"],
  bytea: ["\\x", "\\x00ff7f80"],
  int2: ["-32768", "0"],
  int4: ["2147483647"],
  int8: ["-9223372036854775808", "1"],
  oid: ["4294967295"],
  text: ["", "NULL", 'a "b", {c}', "\\", "ü 😀"],
  varchar: ["a"],
  "char(3)": ["a"],
  bit: ["1"],
  varbit: ["101"],
  uuid: ["0198c0de-0000-7000-8000-000000000000"],
  xml: ["<a/>"],
  inet: ["10.0.0.1", "::1/64"],
  cidr: ["10.0.0.0/8"],
  float4: ["1.5", "NaN"],
  float8: ["0.1", "-Infinity", "1e300"],
  numeric: ["0.10", "123456789012345678901234567890.5", "NaN"],
  json: ['{"a": [1, null]}', "null"],
  jsonb: ['"text"', "1"],
  date: ["2026-02-03", "0044-03-15 BC"],
  time: ["01:02:03.456"],
  timestamp: ["2026-02-03 04:05:06.789", "12026-01-01"],
  timestamptz: ["2026-02-03 04:05:06.789123+05:30"],
  colour: ["red"],
};

const ERRORS = [
  "SELECT * FROM nowhere",
  "SELECT nothing FROM painted",
  'SELECT "No thing" FROM painted',
  "SELECT 'x'::int4",
  "SELECT 99999999999::int4",
  "SELECT 1 / 0",
  "SYNTAX",
  "INSERT INTO painted VALUES (1)",
  "INSERT INTO painted VALUES (NULL)",
  "INSERT INTO painted (id, code) VALUES (2, 'too long')",
  "INSERT INTO parts VALUES (7)",
  "UPDATE parts SET id = -1",
  "DELETE FROM painted",
];

const AT = "2026-02-03T04:05:06.789Z";
const ARGUMENTS: Record<string, [ArgScalarType, unknown]> = {
  timestamptz: ["datetime", AT],
  "timestamptz(3)": ["datetime", new Date(AT)],
  timestamp: ["datetime", new Date("0999-12-31T23:59:59Z")],
  "timestamp(3)": ["datetime", new Date("+012026-01-01T00:00:00Z")],
  date: ["datetime", AT],
  time: ["datetime", new Date(AT)],
  "timestamptz[]": ["datetime", [AT, new Date(AT)]],
  bytea: ["bytes", Buffer.from([0, 255]).toString("base64")],
  "bytea[]": ["bytes", [new Uint8Array([0, 255]), ""]],
  int8: ["bigint", 2n ** 62n],
  "text[]": ["string", ["", 'a "b"', "NULL"]],
  jsonb: ["json", '{"a": [1]}'],
};

let pglite: PGlite;
let ours: SqlDriverAdapter;
let theirs: SqlDriverAdapter;
const statement = (sql: string, args: unknown[] = [], type: Partial<ArgType> = {}): SqlQuery => ({
  sql,
  args,
  argTypes: args.map((one) => ({ scalarType: "string", arity: Array.isArray(one) ? "list" : "scalar", ...type })),
});
const bothRun = (query: SqlQuery) =>
  Promise.all(
    [ours, theirs].map((adapter) => adapter.queryRaw(query).catch(({ name, cause }: Error) => ({ name, cause }))),
  );

beforeAll(async () => {
  pglite = await PGlite.create();
  ours = await (await embeddedAdapter(clientOf(pglite))).connect();
  const pool = new Pool({ max: 1, stream: () => new PgliteSocket(pglite) });
  theirs = await new PrismaPg(pool).connect();
  await pglite.exec(
    `CREATE TYPE colour AS ENUM ('red', 'green');
     CREATE TABLE painted (id int PRIMARY KEY, code varchar(3)); INSERT INTO painted VALUES (1);
     CREATE TABLE parts (id int CHECK (id > 0) REFERENCES painted ON DELETE RESTRICT); INSERT INTO parts VALUES (1)`,
  );
});
afterAll(() => pglite.close());

test.each(Object.entries(TYPES))("%s is read as Prisma's adapter for servers reads it", async (type, values) => {
  const list = `ARRAY[${values.map((_, index) => `$${index + 1}::text`)}, NULL]`;
  const [own, prismas] = await bothRun(
    statement(
      `SELECT value::${type}, ${list}::${type}[] AS list, '{}'::${type}[] AS none FROM unnest(${list}) value`,
      values,
    ),
  );
  expect(own).toEqual(prismas);
});

test.each(Object.entries(ARGUMENTS))(
  "an argument for %s is written as by Prisma's adapter",
  async (type, [scalarType, value]) => {
    const [own, prismas] = await bothRun(
      statement(`SELECT $1::${type} AS value`, [value], { scalarType, dbType: type.toUpperCase() }),
    );
    expect(own).toHaveProperty("rows.0.0");
    expect(own).toEqual(prismas);
  },
);

test.each(ERRORS)("%s fails as with Prisma's adapter for servers", async (sql) => {
  const [own, prismas] = await bothRun(statement(sql));
  expect(own).toMatchObject({ name: "DriverAdapterError" });
  expect(own).toEqual(prismas);
});

test("a savepoint that is rolled back leaves what was written before it", async () => {
  const tx = await ours.startTransaction("SERIALIZABLE");
  await tx.executeRaw(statement("INSERT INTO painted VALUES (10)"));
  await tx.createSavepoint?.("nested");
  await expect(tx.executeRaw(statement("INSERT INTO painted VALUES (11), (10)"))).rejects.toThrow("UniqueConstraint");
  await tx.rollbackToSavepoint?.("nested");
  await tx.releaseSavepoint?.("nested");
  await tx.commit();
  expect((await ours.queryRaw(statement("SELECT id FROM painted WHERE id >= 10"))).rows).toEqual([[10]]);
});
