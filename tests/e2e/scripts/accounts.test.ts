import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { runCommand } from "@/tests/support/process/command";
import { bearer, registerAt, type Service, startForTest, startService } from "@/tests/support/process/service";

async function accounts(env: Record<string, string>, ...args: string[]) {
  const { code, output } = await runCommand("homeport", ["accounts", ...args], env);
  return { code, output };
}

const statusOf = async (service: Service, token: string) =>
  (await service.fetch("/api/push/devices", { headers: bearer(token) })).status;

describe("on the embedded database", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.end("SIGKILL"));

  const homeport = (...args: string[]) => accounts({ DATA_DIR: service.dataDir, SUDO_USER: "ops" }, ...args);
  const jsonOf = async (...args: string[]) => JSON.parse((await homeport(...args, "--json")).output);

  // ASVS 7.4.5
  test("an operator searches, shows, signs out, changes and deletes accounts while the service runs", async () => {
    const [ann, bob] = [await registerAt(service), await registerAt(service)];

    expect((await homeport("list")).output).toMatch(
      new RegExp(`^${bob.id}\\t.*\\t${bob.email}\\tunverified\\tuser\\tactive\\t-\n${ann.id}\\t`),
    );
    const shown = (await homeport("show", ann.email.toUpperCase())).output;
    expect(JSON.parse(shown)).toMatchObject({
      id: ann.id,
      hasPassword: true,
      sessions: [{ transport: "token" }],
      securityEvents: [{ type: "registered" }],
    });
    expect(shown).not.toMatch(/\$2b\$|passwordHash/);

    const why = await homeport("why", bob.email, "pro");
    const first = `${bob.email} does not have “pro”.\n\nNo event names the account by its id ${bob.id}. (no_event)\n  - Check that `;
    expect(why).toMatchObject({ code: 0, output: expect.stringContaining(first) });
    expect(await jsonOf("why", bob.id)).toMatchObject({ hasAccess: false, reasons: [{ code: "no_event" }, {}] });
    expect((await homeport("why", "nobody@example.com")).code).toBe(1);

    expect((await homeport("grant", ann.id, "admin")).output).toBe(`${ann.email} is now admin (was user).\n`);
    expect(await jsonOf("list", " PERSON-", "--role", "admin")).toMatchObject([{ id: ann.id }]);

    expect((await homeport("disable", bob.email, "--reason", "fraud")).output).toBe(
      `${bob.email} is disabled, 1 session revoked.\n`,
    );
    expect(await statusOf(service, bob.token)).toBe(401);
    expect((await homeport("enable", bob.email)).output).toBe(`${bob.email} can sign in again.\n`);
    expect(await jsonOf("events", bob.email)).toMatchObject([
      { type: "account_enabled", actor: "operator:ops" },
      { type: "signed_out", details: { sessionsEnded: 1 } },
      { type: "account_disabled", details: { reason: "fraud" } },
      { type: "registered", actor: "account" },
    ]);

    expect((await homeport("revoke-sessions", ann.id)).output).toBe(`${ann.email}: 1 session revoked.\n`);
    expect(await statusOf(service, ann.token)).toBe(401);

    const file = path.join(service.dataDir, "bob.json");
    expect((await homeport("export", bob.id, "--output", file)).output).toBe(`${bob.email}: exported to ${file}.\n`);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ account: { id: bob.id } });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    expect((await homeport("delete", bob.email)).code).toBe(2); // without --yes
    expect((await homeport("delete", bob.email, "--yes")).output).toContain(`${bob.email} is deleted.`);
    const gone = await homeport("show", bob.id);
    expect(gone).toMatchObject({ code: 1, output: expect.stringContaining(`The account ${bob.id} was deleted.`) });
    expect(gone.output).toContain('"account_deleted"');
    expect(await homeport("reset-factors", ann.id)).toEqual({
      code: 1,
      output: `${ann.email} has no second factor and no passkey. Nothing was changed.\n`,
    });
    expect(await homeport("unlink", ann.email, "google")).toEqual({
      code: 1,
      output: `${ann.email} is not linked to google. Nothing was changed.\n`,
    });
  });

  test("a rotation of the secret needs the service to be stopped, signs nobody out, and can be repeated", async () => {
    const ann = await registerAt(service);
    expect(await homeport("rotate-keys")).toMatchObject({
      code: 1,
      output: expect.stringMatching(/Another process \(pid \d+\) is using/),
    });
    await service.end("SIGTERM");
    const file = path.join(service.dataDir, "secrets.json");
    const secrets = async () =>
      JSON.parse(await readFile(file, "utf8")) as { secret: string; previousSecrets?: object[] };
    const before = await secrets();
    for (const count of [1, 2]) {
      const { code, output } = await homeport("rotate-keys");
      expect([code, output]).toEqual([
        0,
        expect.stringContaining("secrets.json has a new secret. 3 data keys re-wrapped"),
      ]);
      expect((await secrets()).previousSecrets).toHaveLength(count);
    }
    expect((await secrets()).secret).not.toBe(before.secret);
    const rotations = ["audit", "list", "--type", "data_keys_rewrapped", "--json"];
    const trail = await runCommand("homeport", rotations, { DATA_DIR: service.dataDir });
    expect(JSON.parse(trail.stdout)).toMatchObject(Array(2).fill({ target: "data_keys", details: { rewrapped: 3 } }));
    expect((await secrets()).previousSecrets?.at(-1)).toMatchObject({ secret: before.secret });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const second = await startForTest({ DATA_DIR: service.dataDir });
    expect(await statusOf(second, ann.token)).toBe(200);
  });
});

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  const [old, fresh] = ["an-old-secret-that-is-long-enough-1", "a-new-secret-that-is-long-enough-2"];
  const envWith = (DATABASE_URL: string, NEXTAUTH_SECRET = old) => ({
    DATABASE_URL,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET,
  });

  test("a command on a database without tables says to migrate it", async () => {
    const empty = await createDatabase(postgresUrl);
    expect((await accounts(envWith(empty), "list")).output).toContain("run `homeport db migrate` first");
  });

  test("an operator moves the stored keys to a new secret", async () => {
    const url = await createMigratedDatabase();
    const service = await startForTest(envWith(url));
    const bob = await registerAt(service);
    const rotate = (secrets: string) => accounts(envWith(url, secrets), "rotate-keys");
    expect(await rotate(fresh)).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^0 data keys re-wrapped\. Others need the secret with the id [\w-]{8}: add it/),
    });
    expect(await rotate(`${fresh},${old}`)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^3 data keys re-wrapped, 0 unchanged\. Keep the other secrets .* 90 days/),
    });
    const second = await startForTest(envWith(url, `${fresh},${old}`));
    expect(await statusOf(second, bob.token)).toBe(200);
    expect(await rotate(fresh)).toMatchObject({ code: 0, output: "0 data keys re-wrapped, 3 unchanged.\n" });
  });
});
