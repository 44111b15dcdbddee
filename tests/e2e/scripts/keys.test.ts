import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { startForTest } from "@/tests/support/process/service";

/** Each start of a process may take long on a busy machine. */
const PATIENCE_MS = 180_000;

test(
  "an operator creates a key at the command line, a program uses it, and revoking it ends that",
  async () => {
    const first = await startForTest();
    const env = { DATA_DIR: first.dataDir };
    const keys = (...args: string[]) => runCommand("keys", args, env);
    expect((await keys("create", "CI", "--scope", "releases:write")).output).toContain("Stop it first");
    expect(await first.end("SIGTERM")).toBe(0);

    const scopes = ["--scope", "releases:write", "--scope", "audit:read"];
    const created = await keys("create", "CI", ...scopes, "--expires", "90d", "--network", "127.0.0.1", "--json");
    expect(created).toMatchObject({ code: 0, stderr: "" });
    const { id, key, ...rest } = JSON.parse(created.stdout) as { id: string; key: string; expiresAt: string };
    expect(key).toMatch(/^hp_[0-9A-Za-z]{49}$/);
    expect(rest).toMatchObject({ name: "CI", scopes: ["audit:read", "releases:write"], networks: ["127.0.0.1/32"] });
    expect(Date.parse(rest.expiresAt) - Date.now()).toBeGreaterThan(89.9 * 86_400_000);
    const listed = await keys("list");
    expect(listed.stdout).toContain(`${id}  ${key.slice(0, 7)}…  active  used never  audit:read,releases:write  CI\n`);
    expect(listed.stdout + (await keys("list", "--json")).stdout).not.toContain(key);

    const second = await startForTest(env);
    const headers = { authorization: `Bearer ${key}` };
    const status = async () => (await second.fetch("/api/admin/keys", { headers })).status;
    expect(await status()).toBe(403); // it is known, and no key may manage keys
    await second.end("SIGTERM");
    expect(await keys("revoke", id)).toMatchObject({ code: 0, stdout: `${id} is revoked.\n` });
    expect((await keys("list")).stdout).toMatch(/ revoked {2}used 2\d{3}-/);

    const third = await startForTest(env);
    expect((await third.fetch("/api/admin/keys", { headers })).status).toBe(401);
  },
  PATIENCE_MS,
);

test.each([
  [["create"], "create takes one name"],
  [["create", "CI"], "--scope: "],
  [["create", "CI", "--scope", "root"], "--scope: "],
  [["create", "CI", "--scope", "audit:read", "--network", "example.com"], "--network: Must be a network"],
  [["create", "CI", "--scope", "audit:read", "--expires", "soon"], "--expires: "],
  [["revoke", "CI"], "revoke takes the ids of keys"],
  [["list", "CI"], "Unknown argument: CI"],
])("keys %j ends with exit code 2 and says why", async (args, reason) => {
  const { code, stderr } = await runCommand("keys", args, { DATA_DIR: "/proc/none" });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) });
});
