import { stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOperatorAccess } from "@/lib/platform/files/operator-file";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest, startService } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

const CREATE = ["create", "CI", "--scope", "releases:write", "--json"];

let other: Service;

beforeAll(async () => {
  other = await startService();
});
afterAll(() => other.end("SIGKILL"));

test("a command works on the service of its folder while it runs, after it was killed, and beside another service", async () => {
  const service = await startForTest();
  const env = { DATA_DIR: service.dataDir, SUDO_USER: "ann" };
  const keys = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand("homeport", ["keys", ...args], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout);
  };
  const running = await keys(...CREATE);
  expect(await keys("list", "--json")).toMatchObject([{ id: running.id }]);
  const { stdout, stderr } = await runCommand("homeport", ["keys", "list"], { DATA_DIR: other.dataDir });
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "No keys found.\n" });

  await service.end("SIGKILL");
  const stale = readOperatorAccess(service.dataDir);
  const [stopped, listed] = await Promise.all([keys(...CREATE), keys("list", "--json")]); // one waits for the other
  expect(listed).toContainEqual(expect.objectContaining({ id: running.id }));
  // The killed service's port now belongs to another service, or to something that is none.
  await writeFile(path.join(service.dataDir, "operator.json"), JSON.stringify({ ...stale, url: other.url }));
  await keys("revoke", running.id, "--json");

  const events = await withStoppedDatabase({ DATA_DIR: service.dataDir }, (db) =>
    db.auditEvent.findMany({ orderBy: { id: "asc" } }),
  );
  const common = { actor: "operator:ann", network: null, userAgent: null };
  expect(events).toMatchObject([
    { type: "key_created", target: `key:${running.id}`, ...common },
    { type: "key_created", target: `key:${stopped.id}`, ...common },
    { type: "key_revoked", target: `key:${running.id}`, ...common },
  ]);
});

test("the key of a running service is in a file for its user alone, works on its machine alone, and is removed at the stop", async () => {
  const file = path.join(other.dataDir, "operator.json");
  const mode = async () => (await stat(file)).mode & 0o777;
  await expect.poll(mode).toBe(0o600); // written once the service listens
  const { url = "", key = "" } = readOperatorAccess(other.dataDir) ?? {};
  expect(url).toBe(other.url);
  const status = async (headers: Record<string, string>, to = "/api/admin/keys") =>
    (await other.fetch(to, { headers })).status;
  const authorization = `Bearer ${key}`;
  expect(await status({ authorization })).toBe(200);
  expect(await status({ authorization: `Bearer ${key.slice(0, -1)}` })).toBe(401);
  expect(await status({ authorization, "x-forwarded-for": "127.0.0.1" })).toBe(403);
  expect(await status({ authorization }, "/api/auth/session")).not.toBe(403);
  expect(await status({}, `/api/admin/keys?key=${key}`)).toBe(400);
  expect(await status({ authorization })).toBe(401);

  expect(await other.end("SIGTERM")).toBe(0);
  await expect(stat(file)).rejects.toThrow("ENOENT");
});
