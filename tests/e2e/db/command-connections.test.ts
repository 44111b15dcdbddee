import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { startCommand } from "@/tests/support/process/command";
import { newDataDir } from "@/tests/support/process/service";

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test.runIf(postgresUrl)("a command goes on when the server ends connections that it does not use", async () => {
  const url = await createMigratedDatabase();
  const [holder, other] = [await connect(url), await connect(url)];
  await holder.query('BEGIN; LOCK TABLE "EmailChange"');
  const { ended } = startCommand("homeport", ["search", "ann@example.com", "--json"], {
    DATA_DIR: await newDataDir(),
    DATABASE_URL: url,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
  });
  const ofCommand = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'homeport'";
  const count = async (which: string) => (await other.query(`SELECT 1 ${ofCommand} AND ${which}`)).rowCount;
  await expect.poll(() => count("wait_event_type = 'Lock'")).toBe(1);
  await expect.poll(() => count("state = 'idle'")).toBeGreaterThan(0);
  await other.query(`SELECT pg_terminate_backend(pid, 10000) ${ofCommand} AND state = 'idle'`);
  await holder.query("COMMIT");
  expect(await ended).toMatchObject({ code: 0, stdout: "[]\n", stderr: "Nothing was found.\n" });
});
