import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import type { AccountDetails } from "@/lib/admin/accounts/schema";
import { loadConfig } from "@/lib/config";
import { applyMigrations } from "@/lib/db/migrations";
import { openDatabase } from "@/lib/db/open";
import { migrationAdapter } from "@/lib/db/server/adapter";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { Jar } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { runCommand } from "@/tests/support/process/command";
import { signInWith } from "@/tests/support/process/provider-sign-in";
import { type Service, startForTest } from "@/tests/support/process/service";

const POLL = { timeout: 30_000, interval: 100 };
const JSON_BODY = { "content-type": "application/json" };

/** Each start of a process may take long on a busy machine, and there are many here. */
const PATIENCE_MS = 300_000;

/** Runs `npm run accounts`. */
async function accounts(env: Record<string, string>, ...args: string[]) {
  const { code, output } = await runCommand("accounts", args, env);
  return { code, output };
}

async function register(service: Service) {
  const email = `person-${crypto.randomUUID()}@example.com`;
  const body = JSON.stringify({ email, password: "correct horse battery" });
  const response = await service.fetch("/api/auth/register", { method: "POST", headers: JSON_BODY, body });
  const { token, user } = (await response.json()) as { token: string; user: { id: string } };
  return { email, token, id: user.id };
}

/** Lets the two minutes pass for which whoever sends a mail has it alone. */
async function endLeases(dataDir: string): Promise<void> {
  const fail = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(loadConfig({ DATA_DIR: dataDir }), { onConnectionError: fail });
  const { count } = await database.client.queuedEmail.updateMany({ data: { nextAttemptAt: new Date() } });
  await database.close();
  expect(count).toBe(1);
}

const statusOf = async (service: Service, token: string) =>
  (await service.fetch("/api/push/devices", { headers: { authorization: `Bearer ${token}` } })).status;

/** Takes an account's provider, its second factor and one of its sessions from it. */
async function changeSignIn(
  service: Service,
  google: IdentityProvider,
  homeport: (...args: string[]) => ReturnType<typeof accounts>,
): Promise<void> {
  const { email, token } = await register(service);
  const send = async (to: string, json: object) => {
    const headers = { ...JSON_BODY, authorization: `Bearer ${token}` };
    const response = await service.fetch(to, { method: "POST", headers, body: JSON.stringify(json) });
    return (await response.json()) as { id: string; secret: string };
  };
  const { id, secret } = await send("/api/auth/factors/totp", {});
  await send("/api/auth/factors/totp/confirm", { id, code: new Authenticator(secret).code() });
  const show = async (account: string) => JSON.parse((await homeport("show", account)).output) as AccountDetails;
  const [session] = (await show(email)).sessions;
  expect((await homeport("revoke-sessions", email, "--session", session?.id ?? "")).output).toBe(
    `${email}: 1 session revoked.\n`,
  );
  expect(await statusOf(service, token)).toBe(401);
  expect((await show(email)).factors).toMatchObject({ totp: { id } });
  expect((await homeport("reset-factors", email)).output).toBe(
    `${email}: the second factors and passkeys are removed, signed out on all devices.\n`,
  );
  expect((await show(email)).factors).toMatchObject({ totp: null });

  const linked = `linked-${crypto.randomUUID()}@example.com`;
  google.person = { sub: crypto.randomUUID(), claims: { email: linked, email_verified: true, hd: "example.com" } };
  await signInWith(google, service, new Jar());
  expect(await show(linked)).toMatchObject({ identities: [{ provider: "google" }], sessions: [{}] });
  expect((await homeport("unlink", linked, "google", "--reason", "sold")).output).toBe(
    `${linked}: 1 google identity removed, signed out on all devices.\n`,
  );
  expect(await show(linked)).toMatchObject({ identities: [], sessions: [] });
}

test(
  // ASVS 7.4.5
  "an operator searches, shows, signs out, changes and deletes accounts of a running embedded service",
  async () => {
    const google = await IdentityProvider.start("google", BASE_URL);
    onTestFinished(() => google.close());
    const service = await startForTest({ ...google.variables, NEXTAUTH_URL: BASE_URL });
    const env = { DATA_DIR: service.dataDir, SUDO_USER: "ops" };
    const [ann, bob] = [await register(service), await register(service)];
    const homeport = (...args: string[]) => accounts(env, ...args);
    const jsonOf = async (...args: string[]) => JSON.parse((await homeport(...args, "--json")).output);

    expect((await homeport("list")).output).toMatch(
      new RegExp(`^${bob.id}\\t.*\\t${bob.email}\\tunverified\\tuser\\tactive\\t-\n${ann.id}\\t`),
    );
    expect((await homeport("list", "person_")).output).toBe("No accounts found.\n");
    expect(await jsonOf("list", ` ${ann.email.toUpperCase()}`)).toMatchObject([{ id: ann.id }]);
    expect(await homeport("list", "--role", "root")).toMatchObject({ code: 2 });
    expect(await jsonOf("show", ann.email.toUpperCase())).toMatchObject({
      id: ann.id,
      hasPassword: true,
      sessions: [{ transport: "token" }],
      securityEvents: [{ type: "registered" }],
    });
    expect((await homeport("show", ann.id)).output).not.toMatch(/\$2b\$|passwordHash/);

    expect((await homeport("grant", ann.id, "admin")).output).toBe(`${ann.email}: admin, was user.\n`);
    expect((await homeport("grant", ann.id, "root")).output).toContain("Unknown role: root. Use user, support, admin.");
    expect(await homeport("grant", ann.id, "user")).toMatchObject({
      code: 1,
      output: expect.stringContaining("admin"),
    });
    expect(await jsonOf("list", "--role", "admin")).toMatchObject([{ id: ann.id }]);

    expect((await homeport("disable", bob.email, "--reason", "fraud")).output).toBe(
      `${bob.email} is disabled, 1 sessions revoked.\n`,
    );
    expect(await statusOf(service, bob.token)).toBe(401);
    expect((await homeport("list", "--state", "disabled")).output).toContain(
      `${bob.email}\tunverified\tuser\tdisabled`,
    );
    expect((await homeport("enable", bob.email)).output).toBe(`${bob.email} can sign in again.\n`);
    expect(await jsonOf("events", bob.email)).toMatchObject([
      { type: "account_enabled", actor: "operator:ops" },
      { type: "signed_out", details: { sessionsEnded: 1 } },
      { type: "account_disabled", details: { reason: "fraud" } },
      { type: "registered", actor: "account" },
    ]);

    expect(await homeport("revoke-sessions", ann.id, "--session", bob.id)).toMatchObject({ code: 1 });
    expect((await homeport("revoke-sessions", ann.id)).output).toBe(`${ann.email}: 1 sessions revoked.\n`);
    expect(await statusOf(service, ann.token)).toBe(401);
    expect(await homeport("unlink", ann.id)).toMatchObject({ code: 2 }); // of which provider?
    expect(await homeport("unlink", bob.id, "gogle")).toMatchObject({
      code: 2,
      output: expect.stringContaining("Unknown provider: gogle. Use google, apple, github."),
    });
    expect(await homeport("unlink", bob.id, "google")).toEqual({
      code: 1,
      output: `${bob.email} is not linked to google. Nothing was changed.\n`,
    });
    expect(await homeport("reset-factors", bob.id)).toEqual({
      code: 1,
      output: `${bob.email} has no second factor and no passkey. Nothing was changed.\n`,
    });

    await changeSignIn(service, google, homeport);
    expect(await jsonOf("export", bob.id, "--reason", "asked for")).toMatchObject({ account: { id: bob.id } });
    const file = path.join(service.dataDir, "bob.json");
    expect((await homeport("export", bob.id, "--output", file)).output).toBe(`${bob.email}: exported to ${file}.\n`);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ account: { id: bob.id } });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    expect((await homeport("delete", bob.email)).code).toBe(2); // without --yes
    expect(await homeport("delete", ann.email, "--yes")).toMatchObject({ code: 1 }); // the only admin
    expect((await homeport("delete", bob.email, "--yes")).output).toContain(`${bob.email} is deleted.`);
    const gone = await homeport("show", bob.id);
    expect(gone).toMatchObject({ code: 1, output: expect.stringContaining(`The account ${bob.id} was deleted.`) });
    expect(gone.output).toContain('"account_deleted"');
    expect(await homeport("show", crypto.randomUUID())).toMatchObject({
      code: 1,
      output: expect.stringContaining("There is no account"),
    });
    expect(await homeport("rotate-keys")).toMatchObject({
      code: 1,
      output: expect.stringMatching(/Another process \(pid \d+\) is using/),
    });
  },
  PATIENCE_MS,
);

test(
  "a rotation of the embedded database's secret signs nobody out, and can be repeated",
  async () => {
    const first = await startForTest();
    const env = { DATA_DIR: first.dataDir };
    const ann = await register(first);
    await first.end("SIGTERM");
    const file = path.join(first.dataDir, "secrets.json");
    const secrets = async () =>
      JSON.parse(await readFile(file, "utf8")) as { secret: string; previousSecrets?: object[] };
    const before = await secrets();
    for (const count of [1, 2]) {
      const { code, output } = await accounts(env, "rotate-keys");
      expect([code, output]).toEqual([
        0,
        expect.stringContaining("secrets.json has a new secret. 3 data keys re-wrapped"),
      ]);
      expect((await secrets()).previousSecrets).toHaveLength(count);
    }
    expect((await secrets()).secret).not.toBe(before.secret);
    expect((await secrets()).previousSecrets?.at(-1)).toMatchObject({ secret: before.secret });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const second = await startForTest(env);
    expect(await statusOf(second, ann.token)).toBe(200);
  },
  PATIENCE_MS,
);

test(
  "a mail that a kill left unsent is sent after the next start",
  async () => {
    const sockets: Socket[] = [];
    const hung = createServer((socket) => void sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(hung, "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      hung.close();
    });
    const first = await startForTest({ SMTP_URL: `smtp://127.0.0.1:${(hung.address() as AddressInfo).port}` });
    const { email } = await register(first);
    const body = JSON.stringify({ email });
    const asked = await first.fetch("/api/auth/reset/request", { method: "POST", headers: JSON_BODY, body });
    expect(asked.status).toBe(202);
    await expect.poll(() => sockets.length, POLL).toBe(1);
    await first.end("SIGKILL");

    await endLeases(first.dataDir);
    const second = await startForTest({ DATA_DIR: first.dataDir });
    const outbox = path.join(second.dataDir, "outbox");
    const mails = async () => (await readdir(outbox).catch(() => [])).filter((name) => name.endsWith(".eml"));
    await expect.poll(mails, POLL).toHaveLength(1);
    const [file] = await mails();
    expect(await readFile(path.join(outbox, file ?? ""), "utf8")).toContain("/reset#token=");
  },
  PATIENCE_MS,
);

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  test(
    "an operator signs out and deletes accounts while the service runs",
    async () => {
      const url = await createDatabase(postgresUrl);
      const env = {
        DATABASE_URL: url,
        NEXTAUTH_URL: "http://localhost:3000",
        NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
      };
      expect((await accounts(env, "list")).output).toContain("run `npm run db:migrate` first");
      await applyMigrations(migrationAdapter(url));
      const service = await startForTest(env);
      await expect.poll(async () => (await service.fetch("/api/auth/csrf")).status, POLL).toBe(200);
      const [ann, bob] = [await register(service), await register(service)];
      expect((await accounts(env, "revoke-sessions", ann.email)).code).toBe(0);
      expect(await statusOf(service, ann.token)).toBe(401);
      expect(await statusOf(service, bob.token)).toBe(200);
      expect((await accounts(env, "delete", bob.id, "--yes")).code).toBe(0);
      expect(await statusOf(service, bob.token)).toBe(401);
      expect((await accounts(env, "list", ann.email)).output.trim().split("\n")).toHaveLength(1);
    },
    PATIENCE_MS,
  );

  test(
    "an operator moves the stored keys to a new secret, after which the old one can be removed",
    async () => {
      const url = await createDatabase(postgresUrl);
      await applyMigrations(migrationAdapter(url));
      const [old, fresh] = ["an-old-secret-that-is-long-enough-1", "a-new-secret-that-is-long-enough-2"];
      const envWith = (NEXTAUTH_SECRET: string) => ({
        DATABASE_URL: url,
        NEXTAUTH_URL: "http://localhost:3000",
        NEXTAUTH_SECRET,
      });
      const first = await startForTest(envWith(old));
      const ann = await register(first);
      expect(await accounts(envWith(fresh), "rotate-keys")).toMatchObject({
        code: 1,
        output: expect.stringMatching(/^0 data keys re-wrapped\. Others need the secret with the id [\w-]{8}: add it/),
      });
      expect(await accounts(envWith(`${fresh},${old}`), "rotate-keys")).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^3 data keys re-wrapped, 0 unchanged\. Keep the other secrets .* 90 days/),
      });
      const second = await startForTest(envWith(`${fresh},${old}`));
      expect(await statusOf(second, ann.token)).toBe(200);
      expect(await accounts(envWith(fresh), "rotate-keys")).toMatchObject({
        code: 0,
        output: "0 data keys re-wrapped, 3 unchanged.\n",
      });
    },
    PATIENCE_MS,
  );
});
