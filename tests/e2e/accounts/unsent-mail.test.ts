import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { mailbox } from "@/tests/support/mailbox";
import { listenForTest } from "@/tests/support/network/listen";
import { anyDatabase, registerAt, startForTest } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

test("an email that a kill left unsent is sent after the next start", async () => {
  const sockets: Socket[] = [];
  const hung = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  const address = await listenForTest(hung);
  const database = await anyDatabase();
  const hungUrl = `smtp://${address}`;
  const first = await startForTest({ ...database, SMTP_URL: hungUrl });
  const { email } = await registerAt(first);
  expect((await first.post("/api/auth/reset/request", { email })).status).toBe(202);
  await expect.poll(() => sockets.length).toBe(1);
  await first.end("SIGKILL");

  const env = { ...database, DATA_DIR: first.dataDir };
  // Ends the lease of two minutes that the killed process had.
  const data = { nextAttemptAt: new Date() };
  expect(await withStoppedDatabase(env, (db) => db.queuedEmail.updateMany({ data }))).toEqual({ count: 1 });
  await startForTest({ ...env, SMTP_URL: await mailbox.start() });
  expect(await mailbox.waitFor(email)).toContain("/reset#token=");
  expect(mailbox.to(email)).toHaveLength(1);
});
