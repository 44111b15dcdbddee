import { randomInt } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { newFolder } from "@/tests/support/guide";
import { startCommand } from "@/tests/support/process/command";
import { operatorKeyOf, preparedDataDir, type Service, startForTest } from "@/tests/support/process/service";

const RECORDS = 20_000;
/** Every thousandth record. */
const REFUSED = RECORDS / 1_000;
const isRefused = (index: number) => index % 1_000 === 500;
const emailOf = (index: number) => (isRefused(index) ? `nobody-${index}` : `person-${index}@example.com`);
const toLine = (index: number) =>
  JSON.stringify({ email: emailOf(index), name: `Person ${index}`, externalId: `old-${index}` });

async function newApiKey(service: Service): Promise<string> {
  const token = await operatorKeyOf(service);
  const body = { name: "Import", scopes: ["accounts:write", "accounts:read"] };
  const response = await service.post("/api/admin/keys", body, { authorization: `Bearer ${token}` });
  expect(response.status).toBe(201);
  return ((await response.json()) as { key: string }).key;
}

/** The accounts of the file, by the admin API. */
async function countAccounts(service: Service, key: string): Promise<number> {
  let count = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor && `&cursor=${cursor}`;
    const response = await service.fetch(`/api/admin/accounts?query=person-&limit=200${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const page = (await response.json()) as { accounts: unknown[]; nextCursor: string | null };
    count += page.accounts.length;
    cursor = page.nextCursor;
  }
  return count;
}

test("an import of which the service and the command are killed ten times loses and doubles nothing", async () => {
  const [dataDir, port] = [await preparedDataDir(), await freePort()];
  const env = { DATA_DIR: dataDir, PORT: String(port) };
  let service = await startForTest(env);
  const key = await newApiKey(service);
  const file = path.join(await newFolder(), "accounts.ndjson");
  await writeFile(file, Array.from({ length: RECORDS }, (_, index) => `${toLine(index)}\n`).join(""));
  const start = () =>
    startCommand("homeport", ["accounts", "import", file, "--json"], {
      HOMEPORT_URL: `http://127.0.0.1:${port}`,
      HOMEPORT_API_KEY: key,
    });
  const progressOf = () => readFile(`${file}.progress`, "utf8").catch(() => null);
  /** Until a moment after the run has noted something new. */
  const untilProgress = async (child: { exitCode: number | null }) => {
    for (const before = await progressOf(); child.exitCode === null && (await progressOf()) === before; )
      await delay(2);
    await delay(randomInt(50));
  };

  let command = start();
  for (let kill = 0; kill < 10; kill += 1) {
    await untilProgress(command.child);
    expect(command.child.exitCode).toBeNull();
    if (kill % 2 === 0) {
      await service.end("SIGKILL");
      service = await startForTest(env); // the command waits for it
    } else {
      command.child.kill("SIGKILL");
      await command.ended;
      command = start();
    }
  }
  const { code, stdout, stderr } = await command.ended;
  expect(stderr).toContain("Goes on after line ");
  expect(code).toBe(1); // records were refused
  const counts = JSON.parse(stdout) as Record<string, number>;
  // What was imported as a kill came is sent again, and unchanged.
  expect({ ...counts, created: (counts.created ?? 0) + (counts.unchanged ?? 0), unchanged: 0 }).toEqual({
    created: RECORDS - REFUSED,
    unchanged: 0,
    updated: 0,
    skipped: 0,
    refused: REFUSED,
  });
  expect(await countAccounts(service, key)).toBe(RECORDS - REFUSED);
  const refused = (await readFile(`${file}.refused.ndjson`, "utf8")).trim().split("\n");
  expect(refused.map((line) => JSON.parse(line).line)).toEqual(
    Array.from({ length: REFUSED }, (_, i) => i * 1_000 + 501),
  );
  expect(await progressOf()).toBeNull();
}, 300_000);
