import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "@/lib/config";
import { openDatabase } from "@/lib/db/open";
import { BASE_URL, SECRET } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { anyDatabase, startForTest } from "@/tests/support/process/service";

const POLL = { timeout: 30_000, interval: 100 };

/** Lets the two minutes pass for which whoever sends a mail has it alone. */
async function endLeases(env: Record<string, string>): Promise<void> {
  const fail = (error: Error) => {
    throw error;
  };
  const config = loadConfig({ NEXTAUTH_URL: BASE_URL, NEXTAUTH_SECRET: SECRET, ...env });
  const database = await openDatabase(config, { onConnectionError: fail });
  const { count } = await database.client.queuedEmail.updateMany({ data: { nextAttemptAt: new Date() } });
  await database.close();
  expect(count).toBe(1);
}

test("a mail that a kill left unsent is sent after the next start", async () => {
  const sockets: Socket[] = [];
  const hung = createServer((socket) => void sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(hung, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    hung.close();
  });
  const database = await anyDatabase();
  const hungUrl = `smtp://127.0.0.1:${(hung.address() as AddressInfo).port}`;
  const first = await startForTest({ ...database, SMTP_URL: hungUrl });
  const post = (to: string, json: object) => {
    const headers = { "content-type": "application/json" };
    return first.fetch(to, { method: "POST", headers, body: JSON.stringify(json) });
  };
  const email = `person-${crypto.randomUUID()}@example.com`;
  expect((await post("/api/auth/register", { email, password: "correct horse battery" })).status).toBe(201);
  expect((await post("/api/auth/reset/request", { email })).status).toBe(202);
  await expect.poll(() => sockets.length, POLL).toBe(1);
  await first.end("SIGKILL");

  const env = { ...database, DATA_DIR: first.dataDir };
  await endLeases(env);
  await startForTest({ ...env, SMTP_URL: await mailbox.start() });
  expect(await mailbox.waitFor(email)).toContain("/reset#token=");
  expect(mailbox.to(email)).toHaveLength(1);
}, 300_000);
