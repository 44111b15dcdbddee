import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { listOperators } from "@/lib/accounts/admin/operators";
import { loadConfig } from "@/lib/platform/config";
import { withSecrets } from "@/lib/platform/embedded-secrets";
import { guideLink, guidePath, readGuide } from "@/lib/platform/guides";
import { describeConfiguration, findGenerated, findMissing } from "@/lib/platform/settings";
import { newAccount } from "@/tests/support/accounts";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx } from "@/tests/support/context";
import { postgresUrl } from "@/tests/support/database";
import { statementsWithoutIndex } from "@/tests/support/explain";
import { flashOf, submit } from "@/tests/support/web/forms";

const PAGE = "/console/settings/operators";

const roleOf = async (id: string) =>
  (await ctx().db.account.findUniqueOrThrow({ where: { id }, select: { role: true } })).role;

describe("the form that gives a role", () => {
  test("gives and removes it, by the email in any case, with the reason in the audit trail", async () => {
    const { cookie, id: adminId } = await operatorWithRole("admin");
    const { id, email } = await newAccount();
    const fields = { email: ` ${email.toUpperCase()} `, role: "support", reason: "Joins support, ticket 12" };
    const granted = await submit("console/grantRole", fields, { cookie });
    expect(granted.headers.get("location")).toBe(`${PAGE}?done=role_granted`);
    expect(await roleOf(id)).toBe("support");
    expect((await listOperators(ctx(), {})).operators).toContainEqual(expect.objectContaining({ id, role: "support" }));
    const [event] = await ctx().db.auditEvent.findMany({ where: { accountId: id, type: "role_changed" } });
    expect(event?.details).toMatchObject({ from: "user", to: "support", reason: fields.reason });
    expect(event?.actor).toContain(adminId);
    const removed = await submit("console/grantRole", { email, role: "user" }, { cookie });
    expect(removed.headers.get("location")).toBe(`${PAGE}?done=role_removed`);
    expect(await roleOf(id)).toBe("user");
  });

  test("names the field of an email that has no account", async () => {
    const { cookie } = await operatorWithRole("admin");
    const fields = { email: `${crypto.randomUUID()}@example.com`, role: "admin" };
    const flash = flashOf(await submit("console/grantRole", fields, { cookie }));
    expect(flash?.fields.email).toMatch(/^No account has this email/);
    expect(flash?.values.email).toBe(fields.email);
  });

  test("leaves one admin, of two who remove each other at once", async () => {
    await ctx().db.account.updateMany({ where: { role: "admin" }, data: { role: "support" } });
    const [ann, bob] = [await operatorWithRole("admin"), await operatorWithRole("admin")];
    const remove = (by: typeof ann, of: typeof ann) =>
      submit("console/grantRole", { email: of.email, role: "user" }, { cookie: by.cookie });
    await Promise.all([remove(ann, bob), remove(bob, ann)]);
    const roles = [await roleOf(ann.id), await roleOf(bob.id)];
    expect(roles.toSorted()).toEqual(["admin", "user"]);
    const last = roles[0] === "admin" ? ann : bob;
    const refused = flashOf(await remove(last, last));
    expect(refused?.message).toBe("This is the only admin. Make another account admin first.");
    expect(await roleOf(last.id)).toBe("admin");
  });
});

describe("the configuration", () => {
  const CANARY = "canary0canary0canary0canary0canary0canary0";
  const SECRETS = {
    DATABASE_URL: `postgres://user:${CANARY}@db.example/home`,
    NEXTAUTH_URL: "https://home.example",
    NEXTAUTH_SECRET: CANARY,
    AUTH_GOOGLE_ID: "google-id",
    AUTH_GOOGLE_SECRET: CANARY,
    AUTH_GITHUB_ID: "github-id",
    AUTH_GITHUB_SECRET: CANARY,
    SMTP_URL: `smtp://user:${CANARY}@mail.example`,
    BILLING_WEBHOOK_AUTHORIZATION: CANARY,
    BILLING_WEBHOOK_SIGNING_SECRET: CANARY,
    BILLING_API_KEY: CANARY,
    BILLING_API_URL: `https://user:${CANARY}@billing.example`,
    RELEASE_S3_ENDPOINT: "https://s3.example",
    RELEASE_S3_BUCKET: "bucket",
    RELEASE_S3_REGION: "region",
    RELEASE_S3_ACCESS_KEY_ID: CANARY,
    RELEASE_S3_SECRET_ACCESS_KEY: CANARY,
    OTEL_EXPORTER_OTLP_ENDPOINT: `https://user:${CANARY}@otel.example`,
  };

  test("shows every variable, and of secrets only whether they are set", () => {
    const groups = describeConfiguration(loadConfig(SECRETS), new Set());
    expect(JSON.stringify(groups)).not.toContain("canary");
    const settings = groups.flatMap((group) => group.settings);
    const shown = (name: string) => settings.find((setting) => setting.name === name)?.value;
    for (const name of ["NEXTAUTH_SECRET", "SMTP_URL", "BILLING_API_URL"])
      expect([name, shown(name)]).toEqual([name, "Set"]);
    expect(shown("AUTH_GOOGLE_ID")).toBe("google-id");
    expect(shown("APNS_KEY")).toBeNull();
  });

  test("says which secrets the service generated, and that the billing provider does not know one", async () => {
    const config = await withSecrets(loadConfig({ DATA_DIR: await mkdtemp(path.join(tmpdir(), "homeport-test-")) }));
    const generated = await findGenerated(config);
    const settings = describeConfiguration(config, generated).flatMap((group) => group.settings);
    const sourceOf = (name: string) => settings.find((setting) => setting.name === name)?.source;
    expect(sourceOf("NEXTAUTH_SECRET")).toBe("generated");
    expect(sourceOf("BCRYPT_COST")).toBe("default");
    expect(sourceOf("MAIL_FROM")).toBe("default");
    expect(sourceOf("APNS_KEY")).toBeNull();
    const context = { ...ctx(), config };
    expect(findMissing(context, generated).map(({ part }) => part)).toContain("The billing webhook");
    const given = await withSecrets(loadConfig({ DATA_DIR: config.DATA_DIR, NEXTAUTH_SECRET: CANARY }));
    expect(await findGenerated(given)).toEqual(new Set(["BILLING_WEBHOOK_SIGNING_SECRET"]));
  });

  test("names what is missing, with a guide that there is", async () => {
    const context = { ...ctx(), config: { ...ctx().config, ...loadConfig(SECRETS), secrets: [CANARY] as const } };
    expect(findMissing(context, new Set()).map(({ part }) => part)).not.toContain("The public URL");
    const missing = findMissing(ctx(), new Set());
    expect(missing.map(({ guide }) => guide)).toContain("docs/guides/push.md");
    for (const { guide } of missing) {
      const name = guidePath(guide)?.replace("/console/settings/guides/", "") ?? "";
      expect(await readGuide(name)).toMatchObject({ file: guide, markdown: expect.stringMatching(/^# /) });
    }
  });

  test("links the guides with each other, and reads nothing else", async () => {
    expect(guideLink("docs/guides/billing.md", "../commands.md#homeport")).toBe(
      "/console/settings/guides/commands#homeport",
    );
    expect(guideLink("docs/guides/push.md", "push-ios.md")).toBe("/console/settings/guides/push-ios");
    expect(guideLink("docs/guides/push.md", "#topics")).toBe("#topics");
    expect(guideLink("docs/guides/push.md", "../decisions/0011-push-outbox-in-three-tables.md")).toBeNull();
    expect(guideLink("docs/guides/console.md", "../../deploy/nginx.conf")).toBeNull();
    for (const name of ["../README", "README", "", "billing.md", "nothing"]) expect(await readGuide(name)).toBeNull();
  });
});

test.runIf(postgresUrl)(
  "on PostgreSQL an index serves the list of operators, among any number of accounts",
  async () => {
    await operatorWithRole("support");
    const list = async (db: ReturnType<typeof ctx>["db"]) => {
      const { nextCursor } = await listOperators({ db }, { limit: 1 });
      if (nextCursor) await listOperators({ db }, { limit: 1, cursor: nextCursor });
    };
    expect(await statementsWithoutIndex(list)).toEqual([]);
  },
);
