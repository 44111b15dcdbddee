import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { type Service, startForTest } from "@/tests/support/process/service";

test("an operator creates a key at the command line, a program reads the audit trail with it, and revoking it ends that", async () => {
  const service = await startForTest();
  const keys = (...args: string[]) => runCommand("homeport", ["keys", ...args], { DATA_DIR: service.dataDir });

  const scopes = ["--scope", "releases:write", "--scope", "audit:read"];
  const created = await keys("create", "CI", ...scopes, "--expires", "90d", "--network", "127.0.0.1", "--json");
  expect(created).toMatchObject({ code: 0, stderr: "" });
  const { id, key, ...rest } = JSON.parse(created.stdout) as { id: string; key: string; expiresAt: string };
  expect(key).toMatch(/^hp_[0-9A-Za-z]{49}$/);
  expect(rest).toMatchObject({ name: "CI", scopes: ["audit:read", "releases:write"], networks: ["127.0.0.1/32"] });
  expect(Date.parse(rest.expiresAt) - Date.now()).toBeGreaterThan(89.9 * 86_400_000);
  const listed = await keys("list");
  expect(listed.stdout).toContain(`${id}\t${key.slice(0, 7)}…\tactive\t-\taudit:read,releases:write\tall\tCI\n`);
  expect(listed.stdout).not.toContain(key);

  const headers = { authorization: `Bearer ${key}` };
  const status = async () => (await service.fetch("/api/admin/keys", { headers })).status;
  expect(await status()).toBe(403); // it is known, and no key may manage keys
  await expectAuditTrail(service, key, id);
  expect(await keys("revoke", id)).toMatchObject({ code: 0, stdout: `${id} is revoked.\n` });
  expect((await keys("list")).stdout).toMatch(/\trevoked\t2\d{3}-/);

  expect(await status()).toBe(401);
});

/** Reads the trail of a service with one event by `homeport audit`: over its URL, and through its folder. */
async function expectAuditTrail(service: Service, key: string, id: string): Promise<void> {
  const remote = { HOMEPORT_URL: service.url, HOMEPORT_API_KEY: key };
  const audit = (env: Record<string, string>, ...args: string[]) =>
    runCommand("homeport", ["audit", "list", ...args], env);
  for (const env of [remote, { DATA_DIR: service.dataDir }]) {
    const line = new RegExp(`^2\\d{3}-.*Z\\tkey_created\\toperator:[^\\t]+\\t-\\tkey:${id}\\t-\\t{"name":"CI",.*\\n$`);
    expect(await audit(env)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(line) });
  }
  const today = new Date().toISOString().slice(0, 10);
  const filters = ["--type", "key_created", "--target", `key:${id}`, "--from", today];
  const csv = (await audit(remote, ...filters, "--csv")).stdout.split("\r\n");
  expect(csv).toEqual([expect.stringMatching(/^"id","at","type",/), expect.stringContaining(`,"key:${id}",`), ""]);
  expect(await audit(remote, "--to", today)).toMatchObject({ code: 0, stdout: "", stderr: "No events found.\n" });
  const unknown = await audit(remote, "--account", "ann@example.com", "--json");
  expect([unknown.code, JSON.parse(unknown.stdout).error.code]).toEqual([1, "forbidden"]); // the key finds no accounts
}
