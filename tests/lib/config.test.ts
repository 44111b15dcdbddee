import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ConfigError, Environment, loadConfig } from "@/lib/config";

test("nothing has to be set", () => {
  const config = loadConfig({});
  expect(config).toMatchObject({ mode: "embedded", PORT: 3000, baseUrl: "http://localhost:3000", secret: undefined });
  expect(Object.isFrozen(config)).toBe(true);
});

test("an empty variable counts as unset", () => {
  expect(loadConfig({ PORT: "", DATABASE_URL: "", SMTP_URL: "" })).toMatchObject({ mode: "embedded", PORT: 3000 });
});

test("every fault is named in one message", () => {
  const bad = { PORT: "70000", BCRYPT_COST: "4", RATE_LIMITS: "maybe", DATABASE_URL: "mysql://x" };
  expect(() => loadConfig(bad)).toThrow(ConfigError);
  for (const name of Object.keys(bad)) expect(() => loadConfig(bad)).toThrow(`- ${name}: `);
});

test("PostgreSQL needs a base URL and a secret, and both are named", () => {
  const DATABASE_URL = "postgres://user@localhost/db";
  expect(() => loadConfig({ DATABASE_URL })).toThrow(/NEXTAUTH_URL[\s\S]*NEXTAUTH_SECRET/);
  const NEXTAUTH_SECRET = "x".repeat(32);
  const config = loadConfig({ DATABASE_URL, NEXTAUTH_URL: "https://api.example.com/", NEXTAUTH_SECRET });
  expect(config).toMatchObject({ mode: "server", baseUrl: "https://api.example.com" });
});

test.each(["https://h.example/api/auth", "https://h.example/?x=1", "https://user:pw@h.example", "ftp://h.example"])(
  "%s is no base for links",
  (NEXTAUTH_URL) => {
    expect(() => loadConfig({ NEXTAUTH_URL })).toThrow("- NEXTAUTH_URL: ");
  },
);

test.each([
  "/srv/catalog.json",
  "./catalog.json",
  "https://cdn.example.com/catalog.json?token=x",
  "http://127.0.0.1/x",
])("%s may be the catalog", (RELEASE_CATALOG) => {
  expect(loadConfig({ RELEASE_CATALOG })).toMatchObject({ RELEASE_CATALOG });
});

test.each([
  "http://cdn.example.com/catalog.json",
  "ftp://h.example/c.json",
  "https://user:pw@h.example/c.json",
  "https://",
])("%s may not", (RELEASE_CATALOG) => {
  expect(() => loadConfig({ RELEASE_CATALOG })).toThrow("- RELEASE_CATALOG: ");
});

test("the object storage's variables come all or not at all", () => {
  const some = { RELEASE_S3_ENDPOINT: "https://s3.example.com", RELEASE_S3_BUCKET: "releases" };
  expect(() => loadConfig(some)).toThrow(
    /RELEASE_S3_REGION[\s\S]*RELEASE_S3_ACCESS_KEY_ID[\s\S]*RELEASE_S3_SECRET_ACCESS_KEY/,
  );
});

test(".env.example documents every variable, and no other", () => {
  const documented = [...readFileSync(".env.example", "utf8").matchAll(/^#? ?([A-Z][A-Z0-9_]*)=/gm)].map(
    ([, name]) => name,
  );
  expect(documented.toSorted()).toEqual(Object.keys(Environment.shape).toSorted());
});

test("the defaults that .env.example names are the defaults", () => {
  const lines = [...readFileSync(".env.example", "utf8").matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm)];
  const given = Object.fromEntries(lines.map(([, name, value]) => [name, value]));
  expect(Object.keys(given).length).toBeGreaterThan(5);
  expect(loadConfig(given)).toEqual(loadConfig({}));
});
