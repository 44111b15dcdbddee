import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { read, sourceFiles } from "@/tests/support/sources";

const service = ["app", "lib", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(sourceFiles);

/** The files that contain a pattern, outside comments. */
const filesWith = (pattern: RegExp, files = service): string[] =>
  files.filter((file) => pattern.test(read(file).replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "")));

/** Where requests go out: each folder takes its URLs from the configuration, unless it says otherwise. */
const CLIENTS = [
  "app/console/releases/upload/upload-file", // in the browser, to the service itself
  "app/console/accounts/search-field.tsx", // in the browser, to the service itself
  "app/(web)/components/send-form.ts", // the same
  "app/(web)/docs/reference/try-it.tsx", // the same
  "app/(web)/docs/samples/samples.ts", // writes a call as text, and sends nothing
  "app/(web)/frame/account-menu.tsx", // the same
  "app/(web)/passkeys/", // the same
  "lib/platform/adapters/",
  "lib/releases/publishing/verify.ts", // for an operator
  "lib/auth/sign-in-providers/",
  "lib/platform/db/",
  "lib/releases/catalog/url-source.ts",
  "lib/platform/outbound.ts", // to URLs of admins and of push subscriptions, whose addresses it checks
];

// ASVS 1.3.6, 13.2.4, 13.2.5
test("requests go out only from a few files, which take their URLs from the configuration or check the address", () => {
  const clients = filesWith(/\bfetch\(|\bcreateTransport\(|new Pool\(|node:(?:https|tls|dgram)"|\bconnect\(/);
  expect(clients.length).toBeGreaterThan(8);
  expect(clients.filter((file) => !CLIENTS.some((place) => file.startsWith(place)))).toEqual([]);
});

// ASVS 15.3.2
test("every fetch of the service says what happens to a redirect", () => {
  const silent = filesWith(/\bfetch\(/).filter((file) => file.startsWith("lib/") && !/redirect: "/.test(read(file)));
  expect(silent).toEqual([]);
});

// ASVS 1.2.5, 1.3.2, 1.3.7, 1.3.10, 1.5.1
test("no code is evaluated, no process is started, and XML is parsed without entities", () => {
  expect(filesWith(/\beval\(|new Function\(|node:vm|node:child_process/)).toEqual([]);
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
  expect(
    Object.keys(dependencies).filter((name) => /xml|ldap|xpath|graphql|memcache|socket\.io|^ws$/i.test(name)),
  ).toEqual(["fast-xml-parser"]);
  expect(filesWith(/fast-xml-parser/)).toEqual(["lib/releases/publishing/files/read-xml.ts"]);
  expect(read("lib/releases/publishing/files/read-xml.ts")).toContain("processEntities: false");
});

// ASVS 1.2.4
test("SQL is written as tagged templates, whose values are parameters, but for the names of tables and columns", () => {
  expect(filesWith(/\$(?:query|execute)RawUnsafe/)).toEqual([]);
  expect(filesWith(/Prisma\.raw\(/)).toEqual([
    "lib/platform/db/open.ts",
    "lib/platform/db/sql.ts",
    "lib/subscriptions/inbox/fold.ts",
  ]);
});

// ASVS 1.1.2, 1.2.1, 1.2.3, 3.5.5, 14.3.3
test("pages write no HTML, keep nothing in the browser's storage, and exchange no messages with other windows", () => {
  expect(filesWith(/dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write/)).toEqual([
    "app/(web)/account/factors/totp/page.tsx", // a QR code: squares with numbers
  ]);
  const app = service.filter((file) => file.startsWith("app/"));
  expect(filesWith(/localStorage|sessionStorage|indexedDB|document\.cookie|serviceWorker|postMessage/, app)).toEqual(
    [],
  );
});

// ASVS 6.5.3, 11.2.1, 11.2.3, 11.3.1, 11.3.2, 11.3.3, 11.4.1, 11.4.3, 11.5.1, 11.6.1
test("randomness that must not be guessed comes from node:crypto, and weak hashes are only where others define them", () => {
  // Both spread retries.
  expect(filesWith(/Math\.random\(/)).toEqual(["lib/push/worker/deliver.ts", "lib/webhooks/deliver.ts"]);
  expect(filesWith(/"(?:md5|md4|sha1|ripemd\w*)"/i)).toEqual([
    "lib/auth/passwords/imported-hash.ts", // PBKDF2 as other systems stored it
    "lib/auth/second-factor/totp.ts", // in an HMAC, as RFC 6238 and the apps have it
    "lib/platform/adapters/breach-lookup.ts",
    "lib/releases/publishing/files/package-facts.ts", // which Squirrel.Windows and Velopack verify
  ]);
  expect(filesWith(/"(?:aes-\d+-(?:ecb|cbc|ctr)|des\b|rc4|bf-)/i)).toEqual([]);
});

const design = read("docs/security-architecture.md");
/** A section of the security architecture. */
const sectionOf = (title: string) => new RegExp(String.raw`\n## ${title}\n([\s\S]*?)\n## `).exec(design)?.[1] ?? "";
const placesIn = (text: string) =>
  [...text.matchAll(/`((?:app|lib|scripts)\/[^`]+|proxy\.ts)`/g)].map(([, place = ""]) => place);

// ASVS 11.1.3, 11.1.4
test("each file that uses cryptography is in the inventory", () => {
  const modules =
    /from "(?:node:crypto|jose|bcryptjs|@noble\/hashes.*|@sigstore\/verify|@simplewebauthn\/server|@apple\/.*)"|import\("(?:age-encryption|jose)"\)/;
  const files = [...service, ...sourceFiles("scripts/homeport")].filter((file) => modules.test(read(file)));
  const places = placesIn(sectionOf("Cryptography"));
  expect(files.length).toBeGreaterThan(80);
  expect(files.filter((file) => !places.some((place) => file.startsWith(place)))).toEqual([]);
  expect(places.filter((place) => !files.some((file) => file.startsWith(place)))).toEqual([]);
});

// ASVS 15.1.4, 15.1.5
test("each component and file that the list of risky ones names exists", () => {
  const section = sectionOf("Risky components and dangerous functions");
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const components = rows.flatMap((row) =>
    [...(row.split(" | ")[0] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  expect(components.length).toBeGreaterThan(8);
  expect(components.filter((name) => !(name in dependencies))).toEqual([]);
  expect(placesIn(section).filter((place) => !existsSync(place))).toEqual([]);
});

// ASVS 11.3.4
test("ciphers are made in two files: the one that draws a nonce for each encryption, and the one that reads imported hashes", () => {
  const ciphers = filesWith(/\bcreateCipheriv\(/, [...service, "lib/auth/passwords/hash-worker.mjs"]);
  expect(ciphers).toEqual(["lib/platform/keys/key-ring.ts", "lib/auth/passwords/hash-worker.mjs"]);
  expect(read("lib/platform/keys/key-ring.ts").match(/randomBytes\(NONCE_BYTES\)/g)).toHaveLength(1);
});

/** A comparison that ends with the first byte that differs, of something with the name of a secret. */
const SECRET = String.raw`\w*(?:secret|token|password|signature|hmac|digest|hash|proof|verifier)\w*`;
const SHORT_CIRCUIT = new RegExp(
  String.raw`\b${SECRET}(?:\([\w., ]*\))? [!=]== [a-z(]|[\w.)] [!=]== (?:\w+\.)*${SECRET}\b`,
  "i",
);

// ASVS 11.2.4
test("a secret that a request contains is compared in constant time", () => {
  const isHarmless = (line: string) => /[!=]== (null|undefined|typeof)|^\s*(\*|\/\/)/.test(line);
  const compares = (line: string) => SHORT_CIRCUIT.test(line) && !isHarmless(line);
  expect(service.filter((file) => read(file).split("\n").some(compares))).toEqual([
    "lib/accounts/email-change/tokens.ts", // of a token that the service derives itself
    "lib/accounts/invitations.ts", // the same
    "lib/accounts/password-reset.ts", // the same
    "lib/auth/authorization-server/token.ts", // kinds of grants
    "lib/auth/email-verification.ts", // of stored values
    "lib/auth/passwords/imported-hash.ts", // lengths
    "lib/auth/publishers/exchange-job-token.ts", // names of claims
    "lib/platform/keys/data-keys.ts", // ids of secrets
    "lib/platform/keys/key-ring.ts", // the same
    "lib/platform/settings.ts", // of settings
    "lib/push/devices/registration.ts", // of a device's token, which proves nothing
    "lib/push/worker/outcomes.ts", // the same
    "lib/releases/catalog/url-source.ts", // of a public file
    "lib/releases/formats/signed-appcast.ts", // the same
    "lib/releases/integrity.ts", // the same
  ]);
});

// ASVS 3.2.3
test("scripts read no element as a global variable, or as a member of document, window or a form", () => {
  const scripts = service.filter((file) => file.startsWith("app/") && /^"use client"/m.test(read(file)));
  const members = scripts.flatMap((file) => [...read(file).matchAll(/\b(?:document|window|globalThis)\.(\w+)/g)]);
  const names = new Set(members.map(([, name = ""]) => name));
  expect([...names].sort()).toEqual([
    "addEventListener",
    "clearInterval",
    "hidden",
    "history",
    "location",
    "querySelector",
    "removeEventListener",
    "setInterval",
    "setTimeout",
  ]);
  expect(filesWith(/\bdocument\[|\bwindow\[|\bdocument\.forms|\.elements\.(?!namedItem)/, scripts)).toEqual([]);
  // These elements would replace members of document.
  expect(filesWith(/<(?:form|img|iframe|embed|object)\s[^>]*\b(?:id|name)=/)).toEqual([]);
});

// ASVS 15.1.2, 15.2.4
test("every package has its hash in the lock file, and none comes from another place than the registry", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { integrity?: string; link?: boolean; resolved?: string }>;
  };
  const packages = Object.entries(lock.packages).filter(([name]) => name !== "");
  expect(packages.length).toBeGreaterThan(300);
  const strange = packages.filter(
    ([, { integrity, link, resolved }]) => link || resolved !== undefined || !integrity?.startsWith("sha512-"),
  );
  expect(strange.map(([name]) => name)).toEqual([]);
});

// ASVS 6.4.2
test("no request asks for a secret question or a password hint", () => {
  const api = readFileSync("public/openapi.json", "utf8");
  const names = [...api.matchAll(/"(\w+)": \{\s*"type"/g)].map(([, name = ""]) => name);
  expect(names).toContain("password");
  expect(names.filter((name) => /question|hint|maiden|answer/i.test(name))).toEqual([]);
  const pages = sourceFiles("app").map(read).join("\n");
  const fields = [...pages.matchAll(/\bname="(\w+)"/g)].map(([, name = ""]) => name);
  expect(fields).toContain("password");
  expect(fields.filter((name) => /question|hint|maiden|answer/i.test(name))).toEqual([]);
});
