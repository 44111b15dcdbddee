import { mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createMailer } from "@/lib/platform/adapters/create-adapters";
import { loadConfig } from "@/lib/platform/config";

const silent = pino({ level: "silent" });
const PRODUCTION = {
  DATABASE_URL: "postgres://localhost/homeport",
  NEXTAUTH_URL: "https://app.example.com",
  NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
};
/** Tokens are in base64url, of whose 64 characters one is the hyphen. */
const TOKENS = [`${"Aa".repeat(21)}B`, "-".repeat(43)];
const emailWith = (link: string) => ({
  to: "ann@example.com",
  locale: "de" as const,
  subject: "Passwort zurücksetzen",
  text: `Öffnen Sie diesen Link:\n\n${link}\n`,
  html: `<p>Öffnen Sie <a href="${link}">diesen Link</a>, ${"lang ".repeat(40)}</p>`,
});

describe("without SMTP_URL, emails are", () => {
  test.each<[string, Record<string, string>, "files" | "off" | "smtp"]>([
    ["written to files on a developer's machine", {}, "files"],
    ["written to files on another port of it", { NEXTAUTH_URL: "http://127.0.0.1:4000" }, "files"],
    ["not written on a developer's machine if it says so", { MAIL_OUTBOX: "false" }, "off"],
    ["not written under a public URL", { NEXTAUTH_URL: "https://app.example.com" }, "off"],
    ["not written in production", PRODUCTION, "off"],
    ["written in production if it says so", { ...PRODUCTION, MAIL_OUTBOX: "true" }, "files"],
    ["sent with SMTP_URL, whatever else is set", { SMTP_URL: "smtp://localhost", MAIL_OUTBOX: "true" }, "smtp"],
  ])("%s", async (_, env, mode) => {
    const mailer = createMailer(loadConfig(env), silent);
    expect(mailer.mode).toBe(mode);
    await mailer.close();
  });
});

test.each(TOKENS)("a file contains the email with its links whole, for its owner alone: %s", async (token) => {
  const link = `http://localhost:3000/verify#token=${token}`;
  const folder = await mkdtemp(path.join(tmpdir(), "homeport-outbox-"));
  const mailer = createMailer(loadConfig({ DATA_DIR: folder }), silent);
  await mailer.send(emailWith(link), "an-id");
  const [name = ""] = await readdir(path.join(folder, "outbox"));
  const file = path.join(folder, "outbox", name);
  expect(name).toMatch(/\.eml$/);
  const message = await readFile(file, "utf8");
  expect(message.split(/\r?\n/)).toContain(link);
  expect(message).toContain(`<a href="${link}">`);
  expect(message).toContain("Öffnen Sie diesen Link:");
  expect(message).toContain("Message-ID: <an-id@localhost>");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("emails that have to be verified need a way to send them", () => {
  const required = { ...PRODUCTION, AUTH_REQUIRE_VERIFIED_EMAIL: "true" };
  expect(() => loadConfig(required)).toThrow("SMTP_URL");
  expect(loadConfig({ ...required, MAIL_OUTBOX: "true" }).MAIL_OUTBOX).toBe(true);
});
