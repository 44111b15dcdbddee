import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDatabase } from "@/dev/postgres";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { Jar } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL } from "@/tests/support/context";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { runCommand } from "@/tests/support/process/command";
import { signInWith } from "@/tests/support/process/provider-sign-in";
import {
  bearer,
  operatorKeyOf,
  registerAt,
  type Service,
  startForTest,
  startService,
} from "@/tests/support/process/service";

async function accounts(env: Record<string, string>, ...args: string[]) {
  const { code, output } = await runCommand("homeport", ["accounts", ...args], env);
  return { code, output };
}

const statusOf = async (service: Service, token: string) =>
  (await service.fetch("/api/push/devices", { headers: bearer(token) })).status;

describe("on the embedded database", () => {
  let google: IdentityProvider;
  let service: Service;

  beforeAll(async () => {
    google = await IdentityProvider.start("google", BASE_URL);
    service = await startService({ ...google.variables, NEXTAUTH_URL: BASE_URL });
  });
  afterAll(async () => {
    await service.end("SIGKILL");
    await google.close();
  });

  const homeport = (...args: string[]) => accounts({ DATA_DIR: service.dataDir, SUDO_USER: "ops" }, ...args);
  const jsonOf = async (...args: string[]) => JSON.parse((await homeport(...args, "--json")).output);

  // ASVS 7.4.5
  test("an operator searches, shows, signs out, changes and deletes accounts while the service runs", async () => {
    const [ann, bob] = [await registerAt(service), await registerAt(service)];

    expect((await homeport("list")).output).toMatch(
      new RegExp(`^${bob.id}\\t.*\\t${bob.email}\\tunverified\\tuser\\tactive\\t-\n${ann.id}\\t`),
    );
    expect((await homeport("list", "person_")).output).toBe("No accounts found.\n");
    const shown = (await homeport("show", ann.email.toUpperCase())).output;
    expect(JSON.parse(shown)).toMatchObject({
      id: ann.id,
      hasPassword: true,
      sessions: [{ transport: "token" }],
      securityEvents: [{ type: "registered" }],
    });
    expect(shown).not.toMatch(/\$2b\$|passwordHash/);

    expect((await homeport("grant", ann.id, "admin")).output).toBe(`${ann.email} is now admin (was user).\n`);
    expect(await homeport("grant", ann.id, "user")).toMatchObject({
      code: 1,
      output: expect.stringContaining("admin"),
    });
    expect(await jsonOf("list", " PERSON-", "--role", "admin")).toMatchObject([{ id: ann.id }]);

    expect((await homeport("disable", bob.email, "--reason", "fraud")).output).toBe(
      `${bob.email} is disabled, 1 session revoked.\n`,
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
    expect((await homeport("revoke-sessions", ann.id)).output).toBe(`${ann.email}: 1 session revoked.\n`);
    expect(await statusOf(service, ann.token)).toBe(401);

    const file = path.join(service.dataDir, "bob.json");
    expect(await jsonOf("export", bob.id, "--reason", "asked for")).toMatchObject({ account: { id: bob.id } });
    expect((await homeport("export", bob.id, "--output", file)).output).toBe(`${bob.email}: exported to ${file}.\n`);
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ account: { id: bob.id } });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    expect((await homeport("delete", bob.email)).code).toBe(2); // without --yes
    expect((await homeport("delete", bob.email, "--yes")).output).toContain(`${bob.email} is deleted.`);
    const gone = await homeport("show", bob.id);
    expect(gone).toMatchObject({ code: 1, output: expect.stringContaining(`The account ${bob.id} was deleted.`) });
    expect(gone.output).toContain('"account_deleted"');
    expect(await homeport("show", crypto.randomUUID())).toMatchObject({
      code: 1,
      output: expect.stringContaining("There is no account"),
    });
  });

  test("an operator ends one session of an account, and removes its second factor and its provider", async () => {
    const { id, email, token } = await registerAt(service);
    const factorId = await addFactor(service, token);
    const [session] = (await detailsOf(service, id)).sessions;
    expect((await homeport("revoke-sessions", email, "--session", session?.id ?? "")).output).toBe(
      `${email}: 1 session revoked.\n`,
    );
    expect(await statusOf(service, token)).toBe(401);
    expect((await detailsOf(service, id)).factors).toMatchObject({ totp: { id: factorId } });
    expect((await homeport("reset-factors", email)).output).toBe(
      `${email}: the second factors and passkeys are removed, signed out on all devices.\n`,
    );
    expect((await detailsOf(service, id)).factors).toMatchObject({ totp: null });
    expect(await homeport("reset-factors", id)).toEqual({
      code: 1,
      output: `${email} has no second factor and no passkey. Nothing was changed.\n`,
    });

    const linked = `linked-${crypto.randomUUID()}@example.com`;
    google.person = { sub: crypto.randomUUID(), claims: { email: linked, email_verified: true, hd: "example.com" } };
    const jar = new Jar();
    await signInWith(google, service, jar);
    const linkedId = await accountIdOf(service, jar);
    expect(await detailsOf(service, linkedId)).toMatchObject({ identities: [{ provider: "google" }], sessions: [{}] });
    expect((await homeport("unlink", linked, "google", "--reason", "sold")).output).toBe(
      `${linked}: 1 google identity removed, signed out on all devices.\n`,
    );
    expect(await detailsOf(service, linkedId)).toMatchObject({ identities: [], sessions: [] });
    expect(await homeport("unlink", linked, "google")).toEqual({
      code: 1,
      output: `${linked} is not linked to google. Nothing was changed.\n`,
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
    expect((await secrets()).previousSecrets?.at(-1)).toMatchObject({ secret: before.secret });
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const second = await startForTest({ DATA_DIR: service.dataDir });
    expect(await statusOf(second, ann.token)).toBe(200);
  });
});

/** Adds an authenticator app to an account. Returns its id. */
async function addFactor(service: Service, token: string): Promise<string> {
  const send = async (to: string, json: object) => {
    return (await (await service.post(to, json, bearer(token))).json()) as { id: string; secret: string };
  };
  const { id, secret } = await send("/api/auth/factors/totp", {});
  await send("/api/auth/factors/totp/confirm", { id, code: new Authenticator(secret).code() });
  return id;
}

async function detailsOf(service: Service, id: string): Promise<AccountDetails> {
  const headers = bearer(await operatorKeyOf(service));
  return (await (await service.fetch(`/api/admin/accounts/${id}`, { headers })).json()) as AccountDetails;
}

/** The id of the account that is signed in in a browser. */
async function accountIdOf(service: Service, { header: cookie }: Jar): Promise<string> {
  const session = await service.fetch("/api/auth/session", { headers: { cookie } });
  return ((await session.json()) as { user: { id: string } }).user.id;
}

describe.runIf(postgresUrl)("on PostgreSQL", () => {
  const [old, fresh] = ["an-old-secret-that-is-long-enough-1", "a-new-secret-that-is-long-enough-2"];
  const envWith = (DATABASE_URL: string, NEXTAUTH_SECRET = old) => ({
    DATABASE_URL,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET,
  });

  test("a command on a database without tables says to migrate it", async () => {
    const empty = await createDatabase(postgresUrl);
    expect((await accounts(envWith(empty), "list")).output).toContain("run `npm run db:migrate` first");
  });

  test("an operator signs out and deletes accounts while the service runs, and moves the stored keys to a new secret", async () => {
    const url = await createMigratedDatabase();
    const service = await startForTest(envWith(url));
    const [ann, bob] = [await registerAt(service), await registerAt(service)];
    expect((await accounts(envWith(url), "revoke-sessions", ann.email)).code).toBe(0);
    expect(await statusOf(service, ann.token)).toBe(401);
    expect(await statusOf(service, bob.token)).toBe(200);
    expect((await accounts(envWith(url), "delete", ann.id, "--yes")).code).toBe(0);

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
