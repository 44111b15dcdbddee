import { createHash, randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { newAccount, requestReset } from "@/tests/support/accounts";
import { call, get, post } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { Authenticator, challengeOf, meet } from "@/tests/support/auth/authenticator";
import { ctx } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { newReceiver, removeEndpoints } from "@/tests/support/webhooks";

type Result = { line: number; status: string; accountId?: string; code?: string; field?: string };

const newEmail = () => `moved-${randomUUID()}@example.com`;

async function send(body: string, query = ""): Promise<Response> {
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const headers = { "content-type": "application/x-ndjson" };
  return call("POST", `/api/admin/accounts/import${query}`, { body, token: key, headers });
}

async function importRecords(records: (object | string)[], query = ""): Promise<Result[]> {
  const lines = records.map((record) => (typeof record === "string" ? record : JSON.stringify(record)));
  const response = await send(lines.join("\n"), query);
  expect(response.status).toBe(200);
  return ((await response.json()) as { results: Result[] }).results;
}

const statuses = (results: Result[]) =>
  results.map(({ status, code, field }) => [status, code, field].filter(Boolean).join(" "));
const signIn = async (email: string, password: string) => (await post("/api/auth/login", { email, password })).status;
const hashOf = async (email: string) => (await ctx().db.account.findUniqueOrThrow({ where: { email } })).passwordHash;

/** What the hashes below are of. */
const PASSWORD = "Straße 12 – correct horse";
const SALT = "AAECAwQFBgcICQoLDA0ODw==";

/** By Python's hashlib and bcryptjs, and from the documents of their makers. */
const HASHES: [name: string, password: object, given?: string][] = [
  ["bcrypt", { format: "bcrypt", hash: "$2y$04$.f4mcsYw2XKyNI0C7oP4Ge78Wf9lpgdWYrYTJpMbz7pRmmpJTFmSK" }],
  [
    "argon2i of its command line",
    { format: "argon2", hash: "$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG" },
    "password",
  ],
  [
    "argon2id of its command line",
    { format: "argon2", hash: "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4" },
    "password",
  ],
  [
    "scrypt of passlib",
    {
      format: "scrypt",
      hash: "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
    },
    "password",
  ],
  [
    "PBKDF2 of passlib",
    {
      format: "pbkdf2",
      hash: "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdAw$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M",
    },
    "password",
  ],
  [
    "PBKDF2 with i=",
    {
      format: "pbkdf2",
      hash: "$pbkdf2-sha512$i=1000$AAECAwQFBgcICQoLDA0ODw$2GqbRQoZLAjD5DFYwZvUgsMLvqOJIbt5GUq0ryZkIb+cOmI2bu4MbYNaC//F6OwTWRDn+IvUL9rQfq7fvpGLCw",
    },
  ],
  [
    "Better Auth",
    {
      format: "better-auth",
      hash: "000102030405060708090a0b0c0d0e0f:65505501ed81575529b2c361a93d40ba2884ba04c428fa431e39b87a304f6164586a89de740fbbc500493d042b7f26821c98275cc94c30989dd6785ea82ba846",
    },
    "Straße ﬁ ½ pass",
  ],
  [
    "Firebase's example",
    {
      format: "firebase-scrypt",
      hash: "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
      salt: "42xEC+ixf3L2lw==",
      saltSeparator: "Bw==",
      signerKey: "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
      memoryCost: 14,
      rounds: 8,
    },
    "user1password",
  ],
  [
    "Django's PBKDF2",
    { format: "django", hash: "pbkdf2_sha256$1000$seasalt12345$Nplh8mBXjTeAfCgB+oLu+AStijEZZp52U2aaP1u9RtQ=" },
  ],
  [
    "Django's PBKDF2 with SHA-1",
    { format: "django", hash: "pbkdf2_sha1$1000$seasalt12345$tWm64Q5gpUkOClVFU6CEzyXePkQ=" },
  ],
  [
    "Django's scrypt",
    {
      format: "django",
      hash: "scrypt$16384$seasalt12345$8$1$cm9ccY4RPOUpNv4tYDLeZAzgrnLEup2UPfoxYfCuFPY+BEbCoHScMQK+gm7Y6cPg/pRglSCbUECLFGabbvh0AA==",
    },
  ],
  [
    "Django's bcrypt of a SHA-256",
    { format: "django", hash: "bcrypt_sha256$$2b$04$cTUz1C5nH0a44hlEByRHsugpRL6YSKQS6TmI3OKvGrNImY0/920qm" },
  ],
  [
    "Django's argon2",
    { format: "django", hash: "argon2$argon2i$v=19$m=65536,t=2,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG" },
    "password",
  ],
  [
    "ASP.NET Core Identity",
    {
      format: "aspnet-identity",
      hash: "AQAAAAIAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg/YaptFChksCMPkMVjBm9SCwwu+o4khu3kZSrSvJmQhvw==",
    },
  ],
  [
    "Keycloak",
    {
      format: "keycloak",
      hash: "1LJx9oXDP6nvF7uLljL1jC2go2HcCvmCq4g9gLRh7qqn6i0XFi0QHzJjU//z330jduHZ9pK0BYOQdaIkMLf48g==",
      salt: SALT,
      algorithm: "pbkdf2-sha256",
      iterations: 1000,
    },
  ],
  [
    "Keycloak's argon2",
    {
      format: "keycloak",
      hash: "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4=",
      salt: "c29tZXNhbHQ=",
      algorithm: "argon2",
      iterations: 2,
      memory: 256,
    },
    "password",
  ],
];

describe("a password keeps working", () => {
  test.each(HASHES)("%s: the first sign-in replaces the hash", async (_, password, given = PASSWORD) => {
    const email = newEmail();
    expect(statuses(await importRecords([{ email, password }]))).toEqual(["created"]);
    expect(await hashOf(email)).toMatch(/^\{(raw|nfkc|sha256)\}\$/);
    expect(await signIn(email, `${given} `)).toBe(401);
    expect(await hashOf(email)).toMatch(/^\{/);
    expect(await signIn(email, given)).toBe(200);
    expect(await hashOf(email)).toMatch(/^\$2b\$04\$/);
    expect(await signIn(email, given)).toBe(200);
    expect(statuses(await importRecords([{ email, password }], "?onConflict=update"))).toEqual(["unchanged"]);
  });

  test("a hash is compared as its system did: not normalized, and cut at 72 bytes by bcrypt", async () => {
    const email = newEmail();
    const hash = "$2b$04$cTUz1C5nH0a44hlEByRHsugpRL6YSKQS6TmI3OKvGrNImY0/920qm";
    const hex = createHash("sha256").update(PASSWORD).digest("hex");
    await importRecords([{ email, password: { format: "bcrypt", hash } }]);
    expect(await signIn(email, hex.replace("9", "９"))).toBe(401);
    expect(await signIn(email, hex)).toBe(200);
  });
});

test.each([
  ["argon2", "$argon2id$v=19$m=262144,t=3,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG", "too_costly"],
  ["argon2", "$argon2id$v=19$m=1024,t=4000,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG", "too_costly"],
  ["argon2", "$argon2d$v=19$m=1024,t=2,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG", "unsupported_hash"],
  ["scrypt", "$scrypt$ln=17,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E", "too_costly"],
  [
    "scrypt",
    "$scrypt$ln=16,r=1,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
    "unsupported_hash",
  ],
  ["pbkdf2", "$pbkdf2-sha256$2000001$0ZrzXitFSGltTQnBWOsdAw$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M", "too_costly"],
  ["bcrypt", `$2b$16$${"x".repeat(53)}`, "too_costly"],
  ["bcrypt", "$2b$10$short", "unsupported_hash"],
  ["argon2", "$argon2id$v=16$m=1024,t=2,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b+dWRWJTmaaJObG", "unsupported_hash"],
  ["better-auth", "salt:key", "unsupported_hash"],
  ["django", "md5$seasalt$3f86d0d3d465b7b458c231bf3555c0e3", "unsupported_hash"],
  ["aspnet-identity", "AAAA", "unsupported_hash"],
])("%s refuses %s", async (format, hash, code) => {
  expect(statuses(await importRecords([{ email: newEmail(), password: { format, hash } }]))).toEqual([
    `refused ${code} /password/hash`,
  ]);
});

test("a hash of Firebase that is not as long as the signer key is refused", async () => {
  const [, password] = HASHES.find(([name]) => name === "Firebase's example") ?? [];
  const records = [{ email: newEmail(), password: { ...password, signerKey: "Bw==" } }];
  expect(statuses(await importRecords(records))).toEqual(["refused unsupported_hash /password/hash"]);
});

test("a record that is refused stops no other, and says what is wrong with it", async () => {
  const email = newEmail();
  const results = await importRecords([
    "{",
    { email: "not an email" },
    { email, surname: "Example" },
    { email: newEmail(), name: "Ann\0" },
    "",
    { email },
  ]);
  expect(results.map(({ line }) => line)).toEqual([1, 2, 3, 4, 6]);
  expect(statuses(results)).toEqual([
    "refused malformed_json",
    expect.stringMatching(/^refused \w+ \/email$/),
    expect.stringMatching(/^refused unrecognized_keys/),
    expect.stringMatching(/^refused \w+ \/name$/),
    "created",
  ]);
});

test("an account has all of its record, and no session, email or role", async () => {
  const [email, externalId, subject] = [newEmail(), randomUUID(), randomUUID()];
  const record = {
    email: ` ${email.toUpperCase()}`,
    emailVerified: "2024-03-01T09:00:00Z",
    name: "Ann Example",
    locale: "de",
    createdAt: "2023-01-01T00:00:00Z",
    externalId,
    appUserIds: [`app-${externalId}`],
    identities: [{ provider: "google", subject }],
    totp: { secret: "JBSWY3DPEHPK3PXP" },
    disabled: true,
  };
  const [{ accountId } = { accountId: undefined }] = await importRecords([record]);
  const account = await ctx().db.account.findUniqueOrThrow({
    where: { id: accountId },
    include: { aliases: true, identities: true, totpFactors: true, sessions: true },
  });
  expect(account).toMatchObject({
    email,
    name: "Ann Example",
    locale: "de",
    role: "user",
    externalId,
    passwordHash: null,
    emailVerifiedAt: new Date("2024-03-01T09:00:00Z"),
    createdAt: new Date("2023-01-01T00:00:00Z"),
    disabledAt: expect.any(Date),
    identities: [{ provider: "google", subject, issuer: "https://accounts.google.com" }],
    totpFactors: [{ confirmedAt: expect.any(Date) }],
    sessions: [],
  });
  expect(account.aliases.map(({ appUserId }) => appUserId).sort()).toEqual([externalId, `app-${externalId}`].sort());
  expect(statuses(await importRecords([record]))).toEqual(["unchanged"]);
  const { key } = await newKey({ scopes: ["accounts:write"] });
  const data = await (await get(`/api/admin/accounts/${accountId}/export`, { token: key })).json();
  expect(data.account).toMatchObject({ externalId, appUserIds: expect.arrayContaining([`app-${externalId}`]) });
});

test("an imported password and authenticator app sign in together, and the hash is replaced", async () => {
  const [email, secret] = [newEmail(), "JBSWY3DPEHPK3PXP"];
  await importRecords([{ email, emailVerified: true, password: HASHES[0]?.[1], totp: { secret } }]);
  const challenge = await challengeOf({ email, password: PASSWORD });
  expect((await meet(challenge, { code: new Authenticator(secret).nextCode() })).status).toBe(200);
  expect(await hashOf(email)).toMatch(/^\$2b\$04\$/);
});

test("a signed-in owner confirms and changes a password whose hash is imported", async () => {
  const { email, id, token } = await newAccount();
  await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now(), passwordHash: null } });
  const results = await importRecords([{ email, password: HASHES[0]?.[1] }], "?onConflict=update");
  expect(statuses(results)).toEqual(["updated"]);
  const confirm = (password: string) => post("/api/auth/reauthenticate", { password }, { token });
  expect([(await confirm("a wrong one")).status, (await confirm(PASSWORD)).status]).toEqual([403, 200]);
  const passwords = { password: PASSWORD, newPassword: `correct horse ${randomUUID()}` };
  expect((await post("/api/auth/password/change", passwords, { token })).status).toBe(200);
  expect(await signIn(email, passwords.newPassword)).toBe(200);
});

test("a conflict is skipped, changed or refused, and nothing that was set here is overwritten", async () => {
  const { email, password, id } = await newAccount();
  await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now() } });
  const hash = "$2y$04$.f4mcsYw2XKyNI0C7oP4Ge78Wf9lpgdWYrYTJpMbz7pRmmpJTFmSK";
  const record = { email, name: "Ann Example", password: { format: "bcrypt", hash } };
  expect(await importRecords([record])).toEqual([{ line: 1, status: "skipped", accountId: id }]);
  expect(statuses(await importRecords([record], "?onConflict=fail"))).toEqual(["refused email_taken /email"]);
  expect(statuses(await importRecords([record], "?onConflict=update&dryRun=true"))).toEqual(["updated"]);
  expect((await ctx().db.account.findUniqueOrThrow({ where: { id } })).name).toBeNull();
  expect(statuses(await importRecords([record], "?onConflict=update"))).toEqual(["updated"]);
  expect((await ctx().db.account.findUniqueOrThrow({ where: { id } })).name).toBe("Ann Example");
  expect(await signIn(email, password)).toBe(200);
  expect(statuses(await importRecords([record], "?onConflict=update"))).toEqual(["unchanged"]);
});

test.each(["?dryRun=true", ""])(
  "what two records claim belongs to the first, also within a request%s",
  async (query) => {
    const [id, subject] = [randomUUID(), randomUUID()];
    const identities = [
      { provider: "github", subject },
      { provider: "github", subject },
    ];
    const email = newEmail();
    const records = [
      { email, externalId: id, appUserIds: [id, id.toUpperCase()], identities },
      { email: newEmail(), externalId: id.toUpperCase() },
      { email: newEmail(), appUserIds: ["other", id] },
      { email: newEmail(), identities },
      { email: email.toUpperCase(), externalId: id },
    ];
    expect(statuses(await importRecords(records, query))).toEqual([
      "created",
      "refused id_taken /externalId",
      "refused id_taken /appUserIds/1",
      "refused identity_taken /identities/0",
      "unchanged",
    ]);
  },
);

test("an id that another account has here is refused, and its own is not", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const [one, other] = await importRecords([
    { email: ann.email, appUserIds: [ann.id] },
    { email: newEmail(), appUserIds: [bob.id.toUpperCase()] },
  ]);
  expect(one).toMatchObject({ status: "skipped", accountId: ann.id });
  expect(other).toMatchObject({ status: "refused", code: "id_taken", field: "/appUserIds/0" });
});

test("a record without an email adds to the account of its externalId", async () => {
  const [email, externalId, subject] = [newEmail(), randomUUID(), randomUUID()];
  const identities = [{ provider: "apple", subject }];
  const added = { externalId, identities, totp: { secret: "JBSWY3DPEHPK3PXP" } };
  expect(statuses(await importRecords([added, { identities }]))).toEqual([
    "refused required /email",
    "refused required /email",
  ]);
  const [created] = await importRecords([{ email, externalId }]);
  expect(statuses(await importRecords([added]))).toEqual(["skipped"]);
  const [updated] = await importRecords([added], "?onConflict=update");
  expect(updated).toEqual({ line: 1, status: "updated", accountId: created?.accountId });
  const where = { email };
  const account = await ctx().db.account.findUnique({ where, include: { identities: true, totpFactors: true } });
  expect(account).toMatchObject({ identities: [{ subject }], totpFactors: [{ confirmedAt: expect.any(Date) }] });
  expect(statuses(await importRecords([added], "?onConflict=update"))).toEqual(["unchanged"]);
});

test("an account that somebody registered with the email, unverified, gets nothing of its owner's", async () => {
  const { email, id } = await newAccount();
  const totp = { secret: "JBSWY3DPEHPK3PXP" };
  for (const fields of [{ emailVerified: true }, { externalId: randomUUID() }, { totp }, { name: "Ann" }]) {
    expect(await importRecords([{ email, ...fields }], "?onConflict=update")).toMatchObject([
      { status: "refused", code: "email_unverified", field: "/email" },
    ]);
  }
  await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now() } });
  const fields = { emailVerified: true, externalId: randomUUID() };
  expect(statuses(await importRecords([{ email, ...fields }], "?onConflict=update"))).toEqual(["updated"]);
});

test("an imported account whose owner has signed in, unverified, gets a second file", async () => {
  const [email, externalId] = [newEmail(), randomUUID()];
  const password = { format: "bcrypt", hash: "$2y$04$.f4mcsYw2XKyNI0C7oP4Ge78Wf9lpgdWYrYTJpMbz7pRmmpJTFmSK" };
  await importRecords([{ email, externalId, password }]);
  expect(await signIn(email, PASSWORD)).toBe(200);
  const identities = [{ provider: "google", subject: randomUUID() }];
  expect(statuses(await importRecords([{ externalId, identities }], "?onConflict=update"))).toEqual(["updated"]);
});

test("an operator's account gets no way to sign in, and is not disabled", async () => {
  const { email, id } = await newAccount();
  const data = { role: "admin", emailVerifiedAt: ctx().now(), passwordHash: null } as const;
  await ctx().db.account.update({ where: { id }, data });
  for (const fields of [
    { identities: [{ provider: "google", subject: randomUUID() }] },
    { password: HASHES[0]?.[1] },
    { totp: { secret: "JBSWY3DPEHPK3PXP" } },
    { disabled: true },
  ]) {
    const results = await importRecords([{ email, externalId: randomUUID(), ...fields }], "?onConflict=update");
    expect(statuses(results)).toEqual(["refused operator_account"]);
  }
  const externalId = randomUUID();
  expect(statuses(await importRecords([{ email, externalId }], "?onConflict=update"))).toEqual(["updated"]);
});

test("a change of who can sign in to an account is in its trail, and disabling it signs it out", async () => {
  const { email, password, id } = await newAccount();
  await ctx().db.account.update({ where: { id }, data: { emailVerifiedAt: ctx().now() } });
  const { token } = (await (await post("/api/auth/login", { email, password })).json()) as { token: string };
  const identities = [{ provider: "google", subject: randomUUID() }];
  const record = { email, identities, totp: { secret: "JBSWY3DPEHPK3PXP" }, disabled: true };
  expect(statuses(await importRecords([record], "?onConflict=update"))).toEqual(["updated"]);
  expect((await get("/api/subscription/status", { token })).status).toBe(401);
  expect(await ctx().db.session.count({ where: { accountId: id, revokedAt: null } })).toBe(0);
  const events = await ctx().db.auditEvent.findMany({ where: { accountId: id, actor: { startsWith: "key:" } } });
  expect(events.map(({ type }) => type).sort()).toEqual(["account_disabled", "identity_linked", "totp_added"]);
});

test("a second file of another system adds its ids, and the first one still changes nothing", async () => {
  const email = newEmail();
  const [first, second] = [
    { email, externalId: randomUUID() },
    { email, externalId: randomUUID() },
  ];
  expect(statuses(await importRecords([first]))).toEqual(["created"]);
  expect(statuses(await importRecords([second], "?onConflict=update"))).toEqual(["updated"]);
  expect(statuses(await importRecords([first, second]))).toEqual(["unchanged", "unchanged"]);
});

test("an account without a password signs in through a reset, and the import itself sends it nothing", async () => {
  const email = newEmail();
  await importRecords([{ email, emailVerified: true, createdAt: "0001-01-01T00:00:00Z" }]);
  expect(await signIn(email, "")).not.toBe(200);
  const password = `correct horse ${randomUUID()}`;
  const token = await requestReset(email);
  expect(mailbox.to(email)).toHaveLength(1);
  expect((await post("/api/auth/reset/confirm", { token, password })).status).toBe(200);
  expect(await signIn(email, password)).toBe(200);
});

test("only with notify are webhook endpoints told of new accounts, and those that cannot sign in invited", async () => {
  onTestFinished(removeEndpoints);
  await newReceiver(["account.created"]);
  const events = (accountId: string | undefined) => ctx().db.webhookEvent.count({ where: { accountId } });
  const [email, linked] = [newEmail(), newEmail()];
  const identities = [{ provider: "google", subject: randomUUID() }];
  const [silent] = await importRecords([{ email: newEmail() }]);
  const [announced] = await importRecords([{ email: linked, identities }, { email }], "?notify=true");
  await importRecords([{ email: linked, identities }, { email }], "?notify=true");
  expect([await events(silent?.accountId), await events(announced?.accountId)]).toEqual([0, 1]);
  await expect.poll(() => mailbox.to(email).join()).toContain("/invitation#token=");
  expect([mailbox.to(email).length, mailbox.to(linked).length]).toEqual([1, 0]);
});

test("two imports of the same records at once, in any order, create each account once", async () => {
  const records = Array.from({ length: 250 }, () => ({ email: newEmail(), appUserIds: [randomUUID()] }));
  const both = await Promise.all([importRecords(records), importRecords(records.toReversed())]);
  const counts = both.flat().map(({ status }) => status);
  expect(counts.filter((status) => status === "created")).toHaveLength(250);
  expect(counts.filter((status) => status === "unchanged")).toHaveLength(250);
});

test("a request has at most 1,000 records, and needs the scope", async () => {
  const tooMany = await send(Array.from({ length: 1_001 }, () => "{}").join("\n"));
  expect(tooMany.status).toBe(422);
  const { key } = await newKey({ scopes: ["accounts:read"] });
  expect((await call("POST", "/api/admin/accounts/import", { body: "{}", token: key })).status).toBe(403);
  expect((await get("/api/admin/accounts/import")).status).toBe(405);
});
