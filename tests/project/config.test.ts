import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { ConfigError, Environment, loadConfig } from "@/lib/platform/config";
import { hostUrls } from "@/lib/platform/config/database";
import { describeConfiguration } from "@/lib/platform/settings";

test("nothing has to be set", () => {
  const config = loadConfig({});
  expect(config).toMatchObject({ mode: "embedded", PORT: 3000, baseUrl: "http://localhost:3000", secrets: undefined });
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

// ASVS 13.2.3
test("PostgreSQL needs a base URL and a secret, and both are named", () => {
  const DATABASE_URL = "postgres://user@localhost/db";
  expect(() => loadConfig({ DATABASE_URL })).toThrow(/NEXTAUTH_URL[\s\S]*NEXTAUTH_SECRET/);
  const NEXTAUTH_SECRET = "x".repeat(32);
  const config = loadConfig({ DATABASE_URL, NEXTAUTH_URL: "https://api.example.com/", NEXTAUTH_SECRET });
  expect(config).toMatchObject({ mode: "server", baseUrl: "https://api.example.com" });
});

describe("NEXTAUTH_SECRET", () => {
  const [first, second] = ["a".repeat(32), "b".repeat(40)];

  test.each([
    [first, [first]],
    [` ${first} , ${second}, `, [first, second]],
  ])("is one secret or a list: '%s'", (NEXTAUTH_SECRET, secrets) => {
    expect(loadConfig({ NEXTAUTH_SECRET }).secrets).toEqual(secrets);
  });

  test.each(["short", `short,${first}`, ","])("'%s' is refused without being shown", (value) => {
    const load = () => loadConfig({ NEXTAUTH_SECRET: value });
    expect(load).toThrow("- NEXTAUTH_SECRET");
    expect(load).not.toThrow(/short(?!er)/);
  });
});

describe("a secret in a file", () => {
  const secret = "a".repeat(32);
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "homeport-secrets-"));
  });
  const fileWith = (text: string) => {
    const file = path.join(folder, randomUUID());
    writeFileSync(file, text);
    return file;
  };

  test("is read without the line break at its end", () => {
    const SMTP_URL_FILE = fileWith("smtp://user:pw@mail.example\r\n");
    const config = loadConfig({ NEXTAUTH_SECRET_FILE: fileWith(` ${secret} \n`), SMTP_URL_FILE });
    expect(config).toMatchObject({ secrets: [` ${secret} `], SMTP_URL: "smtp://user:pw@mail.example" });
  });

  test("may be each setting that the console hides, and no other", () => {
    const load = () => loadConfig(Object.fromEntries(names.map((name) => [`${name}_FILE`, folder])));
    const names = Object.keys(Environment.shape);
    const settings = describeConfiguration(loadConfig({}), new Set()).flatMap((group) => group.settings);
    for (const { name, isSecret } of settings.filter((setting) => setting.name !== "BILLING_SANDBOX_TESTERS"))
      (isSecret ? expect(load) : expect(load).not).toThrow(`- ${name}_FILE: ${folder} cannot be read (EISDIR)`);
  });

  test.each([
    ["beside its variable", () => ({ NEXTAUTH_SECRET_FILE: fileWith(secret), NEXTAUTH_SECRET: secret }), "is set, too"],
    ["without a value", () => ({ NEXTAUTH_SECRET_FILE: fileWith("\n") }), "is empty"],
    ["that is too short", () => ({ NEXTAUTH_SECRET_FILE: fileWith("swordfish") }), "at least 32 characters"],
    ["that is too large", () => ({ SMTP_URL_FILE: fileWith("a".repeat(100_000)) }), "is too large for a secret"],
    ["that does not exist", () => ({ DATABASE_URL_FILE: "/nowhere" }), "/nowhere cannot be read (ENOENT)"],
  ])("%s is refused without being shown", (_, env, reason) => {
    expect(() => loadConfig(env())).toThrow(reason);
    expect(() => loadConfig(env())).not.toThrow(/swordfish|aaaa/);
    expect(() => loadConfig(env())).toThrow(expect.objectContaining({ code: "configuration_invalid" }));
  });
});

test("the pages to manage subscriptions are https URLs by store", () => {
  const load = (value: string) => loadConfig({ BILLING_MANAGEMENT_URLS: value }).BILLING_MANAGEMENT_URLS;
  expect([...load('{"STRIPE":"https://billing.example/login"}')]).toEqual([
    ["STRIPE", "https://billing.example/login"],
  ]);
  expect(() => load('{"STRIPE":"javascript:alert(1)"}')).toThrow(
    "- BILLING_MANAGEMENT_URLS: STRIPE must be an https URL",
  );
  expect(() => load('{"stripe":"https://billing.example/"}')).toThrow("- BILLING_MANAGEMENT_URLS: stripe");
  expect(() => load("{")).toThrow("is not valid JSON");
  expect(() => load("missing.json")).toThrow("must be a JSON object, or the path of a file");
});

test("a setting that no longer exists is reported with what replaces it", () => {
  expect(loadConfig({ WEB_CONCURRENCY: "auto", DATABASE_READ_URL: "postgres://db2/homeport" }).removed).toEqual([
    { setting: "DATABASE_READ_URL", instead: expect.stringContaining("DATABASE_URL") },
    { setting: "WEB_CONCURRENCY", instead: expect.stringContaining("docs/deploy.md#use-all-cores") },
  ]);
  expect(loadConfig({ WEB_CONCURRENCY: " " }).removed).toEqual([]);
});

const [first, second] = [
  "postgres://user:secret@db1.example:5432/homeport",
  "postgres://user:secret@db2.example/homeport",
];

test.each([
  ["postgres://user:secret@db1.example:5432,db2.example/homeport", [first, second]],
  [
    "postgres://user:a,b@db1.example/homeport?options=-c%20x=a,b",
    ["postgres://user:a,b@db1.example/homeport?options=-c%20x=a,b"],
  ],
])("%s is a URL for each host", (url, urls) => {
  expect(hostUrls(url)).toEqual(urls);
});

test.each([
  ["postgres://user:secret@db1.example,,db2.example/homeport", "HOST1:PORT,HOST2:PORT"],
  ["postgres://user:secret@/homeport?host=db1,db2", "HOST1:PORT,HOST2:PORT"],
  ["postgres://user:secret@db1.example,db2.example/homeport?target_session_attrs=any", "must be read-write"],
])("%s is refused without being shown", (url, reason) => {
  for (const name of ["DATABASE_URL", "DATABASE_MIGRATE_URL"]) {
    const load = () => loadConfig({ [name]: url });
    expect(load).toThrow(`- ${name}: `);
    expect(load).toThrow(reason);
    expect(load).not.toThrow("secret");
  }
});

test.each([
  ["BILLING_API_URL", `https://api.example.com/${"x".repeat(2_000)}`],
  ["RELEASE_S3_ENDPOINT", `https://s3.example.com/?${"x".repeat(2_000)}`],
  ["BILLING_STRIPE_API_KEY", "x".repeat(4_097)],
  // ASVS 4.2.5
])("%s is refused if a request with it could be too long for its receiver", (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`${name}: .*(2000|4096)`));
});

test("DATABASE_MIGRATE_URL without DATABASE_URL is refused", () => {
  expect(() => loadConfig({ DATABASE_MIGRATE_URL: first })).toThrow(
    "- DATABASE_URL: is required with DATABASE_MIGRATE_URL",
  );
});

test.each([
  "postgres:///homeport?host=/run/pg",
  "postgresql://user:secret@[::1]:5432,db2.example:5432/homeport?target_session_attrs=read-write&sslmode=verify-full",
])("%s is accepted", (DATABASE_URL) => {
  expect(() => loadConfig({ DATABASE_URL })).not.toThrow("- DATABASE_URL: must");
});

test.each(["https://h.example/api/auth", "https://user:pw@h.example", "ftp://h.example"])(
  "%s is no base for links",
  (NEXTAUTH_URL) => {
    expect(() => loadConfig({ NEXTAUTH_URL })).toThrow("- NEXTAUTH_URL: ");
  },
);

test("the catalog is a file, or at a URL that nobody on the way can change", () => {
  for (const RELEASE_CATALOG of [
    "./catalog.json",
    "https://cdn.example.com/catalog.json?token=x",
    "http://127.0.0.1/x",
  ])
    expect(loadConfig({ RELEASE_CATALOG })).toMatchObject({ RELEASE_CATALOG });
  for (const RELEASE_CATALOG of ["http://cdn.example.com/c.json", "https://user:pw@h.example/c.json", "https://"])
    expect(() => loadConfig({ RELEASE_CATALOG })).toThrow("- RELEASE_CATALOG: ");
});

test("the object storage's variables come all or not at all", () => {
  const some = { RELEASE_S3_ENDPOINT: "https://s3.example.com", RELEASE_S3_BUCKET: "releases" };
  expect(() => loadConfig(some)).toThrow(
    /RELEASE_S3_REGION[\s\S]*RELEASE_S3_ACCESS_KEY_ID[\s\S]*RELEASE_S3_SECRET_ACCESS_KEY/,
  );
});

test("half a sign-in provider is a fault that names the other half", () => {
  expect(() => loadConfig({ AUTH_GOOGLE_ID: "x" })).toThrow("- AUTH_GOOGLE_SECRET: is required with AUTH_GOOGLE_ID");
  expect(() => loadConfig({ AUTH_GITHUB_SECRET: "x" })).toThrow(
    "- AUTH_GITHUB_ID: is required with AUTH_GITHUB_SECRET",
  );
});

test("Apple's key may be one line, requires the IDs of its team and of itself, and is read at the start", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const given = { AUTH_APPLE_ID: "com.example.web", AUTH_APPLE_TEAM_ID: "TEAM", AUTH_APPLE_KEY_ID: "KEY" };
  const config = loadConfig({ ...given, AUTH_APPLE_SECRET: pem.trim().replaceAll("\n", "\\n") });
  expect(config.AUTH_APPLE_SECRET).toBe(pem.trim());
  expect(() => loadConfig({ ...given, AUTH_APPLE_SECRET: pem, AUTH_APPLE_TEAM_ID: "" })).toThrow(
    "- AUTH_APPLE_TEAM_ID",
  );
  const broken = "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----";
  expect(() => loadConfig({ ...given, AUTH_APPLE_SECRET: broken })).toThrow(
    "- AUTH_APPLE_SECRET: must be an EC private key",
  );
  const forApps = { ...given, AUTH_APPLE_ID: "", AUTH_APPLE_SECRET: pem };
  expect(() => loadConfig(forApps)).toThrow("- AUTH_APPLE_ID: is required with AUTH_APPLE_SECRET");
  expect(loadConfig({ ...forApps, AUTH_APPLE_NATIVE_IDS: "com.example.acme" }).AUTH_APPLE_ID).toBeUndefined();
});

test.each(["whsec_!!!", `whsec_${Buffer.alloc(23, 7).toString("base64")}`, "a password"])(
  "%s is no secret of Standard Webhooks, whose key has at least 24 bytes",
  (BILLING_WEBHOOK_SIGNING_SECRET) => {
    const given = { BILLING_WEBHOOK_SIGNING_SECRET, BILLING_PROVIDER: "standard-webhooks" };
    expect(() => loadConfig(given)).toThrow(
      "- BILLING_WEBHOOK_SIGNING_SECRET: must be whsec_ and the base64 of 24 to 64 random bytes",
    );
  },
);

test("a secret of 24 bytes is one, with or without its prefix, and RevenueCat's may be any text", () => {
  const key = Buffer.alloc(24, 7).toString("base64");
  for (const secret of [`whsec_${key}`, key]) {
    const given = { BILLING_WEBHOOK_SIGNING_SECRET: secret, BILLING_PROVIDER: "standard-webhooks" };
    expect(loadConfig(given)).toMatchObject(given);
  }
  expect(loadConfig({ BILLING_WEBHOOK_SIGNING_SECRET: "a password" }).BILLING_PROVIDER).toBe("revenuecat");
});

test("addresses that have to be verified need mail", () => {
  const server = {
    DATABASE_URL: "postgres://user@localhost/db",
    NEXTAUTH_URL: "https://api.example.com",
    NEXTAUTH_SECRET: "x".repeat(32),
    AUTH_REQUIRE_VERIFIED_EMAIL: "true",
  };
  expect(() => loadConfig(server)).toThrow("- SMTP_URL: is required with AUTH_REQUIRE_VERIFIED_EMAIL");
  expect(loadConfig({ ...server, SMTP_URL: "smtp://mail.example.com" }).AUTH_REQUIRE_VERIFIED_EMAIL).toBe(true);
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

test("newer versions are read from https, or from this machine", () => {
  const load = (UPDATE_CHECK_URL: string) => loadConfig({ UPDATE_CHECK: "on", UPDATE_CHECK_URL }).UPDATE_CHECK_URL;
  for (const url of ["https://docs.example.com/releases.json", "http://127.0.0.1:8000/releases.json"])
    expect(load(url)).toBe(url);
  const { homepage } = JSON.parse(readFileSync("package.json", "utf8"));
  const isPublished = !homepage.includes("example.com");
  if (isPublished) expect(load("")).toBe(`${homepage}releases.json`);
  else expect(() => load("")).toThrow("- UPDATE_CHECK_URL: is required with UPDATE_CHECK=on");
  for (const url of ["http://docs.example.com/", "https://user:pw@docs.example.com/", "releases.json", "file:///x"])
    expect(() => load(url)).toThrow("- UPDATE_CHECK_URL: ");
});
