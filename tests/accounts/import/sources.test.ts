import { createHash, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { post } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { examplesOf } from "@/tests/support/guide";
import { importFile, newFile } from "@/tests/support/import-command";

const newEmail = (name: string) => `${name}-${randomUUID()}@example.com`;
const signIn = async (email: string, password: string) => (await post("/api/auth/login", { email, password })).status;
const toNdjson = (records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\r\n`).join("");
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const toCsv = (rows: string[][]) => rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");

async function accountOf(email: string) {
  const include = { identities: true, aliases: true, totpFactors: true };
  const { id, name, emailVerifiedAt, createdAt, disabledAt, externalId, passwordHash, identities, totpFactors } =
    await ctx().db.account.findUniqueOrThrow({ where: { email }, include });
  return {
    id,
    name,
    verified: emailVerifiedAt !== null,
    createdAt: createdAt.toISOString(),
    disabled: disabledAt !== null,
    externalId,
    hasPassword: passwordHash !== null,
    identities: identities.map(({ provider, subject }) => `${provider} ${subject}`).sort(),
    hasTotp: totpFactors.length > 0,
  };
}

const BCRYPT = "$2y$04$.f4mcsYw2XKyNI0C7oP4Ge78Wf9lpgdWYrYTJpMbz7pRmmpJTFmSK";
const BCRYPT_PASSWORD = "Straße 12 – correct horse";

/** "Password hash parameters" of Firebase's example, as its console shows them. */
const HASH_CONFIG = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}
`;
const FIREBASE_HASH = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";

test("firebase: a file of auth:export, and the console's hash parameters", async () => {
  const [ann, bob] = [newEmail("ann"), newEmail("bob")];
  const [localId, subject] = [randomUUID(), randomUUID()];
  const users = [
    {
      localId,
      email: ann,
      emailVerified: true,
      passwordHash: FIREBASE_HASH,
      salt: "42xEC+ixf3L2lw==",
      displayName: 'Ann {[\\"]} Example',
      lastSignedInAt: "1486324170000",
      createdAt: "1486324159000",
      providerUserInfo: [{ providerId: "google.com", rawId: subject, email: ann, displayName: "Ann" }],
    },
    { localId: randomUUID(), email: bob, emailVerified: false, createdAt: "1486324159000", disabled: true },
    { localId: randomUUID(), phoneNumber: "+4930901820", createdAt: "1486324159000", providerUserInfo: [] },
  ];
  const elements = users.map((user) => JSON.stringify(user, null, 2)).join(",\n");
  const file = await newFile("users.json", `{"kind": "users", "users": [\n${elements}]}\n`);
  const hashConfig = await newFile("hash-config.txt", HASH_CONFIG);
  const { counts, refused } = await importFile(file, "--from", "firebase", "--hash-config", hashConfig);
  expect(counts).toEqual({ created: 2, refused: 1 });
  expect(refused).toEqual([{ line: 27, code: "required", field: "/email", record: users[2] }]);
  expect(await accountOf(ann)).toMatchObject({
    name: 'Ann {[\\"]} Example',
    verified: true,
    createdAt: "2017-02-05T19:49:19.000Z",
    externalId: localId,
    identities: [`google ${subject}`],
  });
  expect(await accountOf(bob)).toMatchObject({ verified: false, disabled: true, hasPassword: false });
  expect(await signIn(ann, "user1password")).toBe(200);
});

test("auth0: a bulk export, then the file of password hashes", async () => {
  const [ann, bob, eve] = [newEmail("ann"), newEmail("bob"), newEmail("eve")];
  const [annId, github] = [randomUUID(), Number.parseInt(randomUUID().slice(0, 8), 16)];
  const users = [
    {
      user_id: `auth0|${annId}`,
      email: ann,
      email_verified: true,
      name: ann,
      created_at: "2019-12-06T18:36:12.412Z",
      identities: [
        { connection: "Username-Password-Authentication", provider: "auth0", user_id: annId, isSocial: false },
        { connection: "github", provider: "github", user_id: github, isSocial: true },
      ],
    },
    {
      user_id: `google-oauth2|${annId}`,
      email: bob,
      email_verified: true,
      name: "Bob Example",
      identities: [{ connection: "google-oauth2", provider: "google-oauth2", user_id: annId, isSocial: true }],
      blocked: true,
    },
    { user_id: `sms|${annId}`, phone_number: "+4930901820", identities: [] },
  ];
  const exported = await importFile(await newFile("export.json", toNdjson(users)), "--from", "auth0");
  expect(exported.counts).toEqual({ created: 2, refused: 1 });
  expect(exported.refused).toMatchObject([{ line: 3, code: "required", field: "/email" }]);
  expect(await accountOf(ann)).toMatchObject({ name: null, identities: [`github ${github}`], hasPassword: false });
  expect(await accountOf(bob)).toMatchObject({ name: "Bob Example", identities: [`google ${annId}`], disabled: true });

  const hash = { passwordHash: BCRYPT, tenant: "example", connection: "Username-Password-Authentication" };
  const hashes = [
    {
      _id: { $oid: annId },
      email_verified: true,
      email: ann,
      ...hash,
      password_set_date: { $date: "2019-12-06T18:36:12.412Z" },
    },
    {
      _id: { $oid: "5dea9f9c82dd7c0e76e4ec93" },
      alt_id: `euclid-${annId}`,
      ...hash,
      identifiers: [{ type: "email", value: eve, verified: true }],
    },
  ];
  const file = await newFile("hashes.json", toNdjson(hashes));
  const { counts } = await importFile(file, "--from", "auth0", "--on-conflict", "update");
  expect(counts).toEqual({ updated: 1, created: 1 });
  expect(await accountOf(eve)).toMatchObject({ externalId: `auth0|euclid-${annId}`, verified: true });
  expect(await signIn(ann, BCRYPT_PASSWORD)).toBe(200);
});

test("clerk: the dashboard's CSV, with the formats of its hashers", async () => {
  const [ann, bob, cat, dan, eve] = ["ann", "bob", "cat", "dan", "eve"].map(newEmail) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const heading =
    "id,first_name,last_name,username,primary_email_address,primary_phone_number,verified_email_addresses,unverified_email_addresses,verified_phone_numbers,unverified_phone_numbers,totp_secret,password_digest,password_hasher";
  const row = (email: string, hash = "", hasher = "", { verified = "", secret = "", name = "" } = {}) =>
    [randomUUID(), name, name && "Example", "", email, "", verified, "", "", "", secret, hash, hasher].join(",");
  const pbkdf2 = "pbkdf2_sha256$6400$0ZrzXitFSGltTQnBWOsdAw==$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M=";
  const firebase = [
    FIREBASE_HASH,
    "42xEC+ixf3L2lw==",
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
    "Bw==",
    "8",
    "14",
  ].join("$");
  const rows = [
    heading,
    row(ann, BCRYPT, "bcrypt", { verified: `other@example.com|${ann}`, secret: "JBSWY3DPEHPK3PXP", name: "Ann" }),
    row(bob, pbkdf2, "pbkdf2_sha256"),
    row(cat, firebase, "scrypt_firebase"),
    row(dan, "5f4dcc3b5aa765d61d8327deb882cf99", "md5"),
    row(eve, "pbkdf2_sha256$1000$seasalt12345$Nplh8mBXjTeAfCgB+oLu+AStijEZZp52U2aaP1u9RtQ=", "pbkdf2_sha256_django"),
  ];
  const file = await newFile("users.csv", `\uFEFF${rows.join("\r\n")}\r\n`);
  const { counts, refused } = await importFile(file, "--from", "clerk");
  expect(counts).toEqual({ created: 4, refused: 1 });
  expect(refused).toMatchObject([
    { line: 5, field: "/password/format", record: { primary_email_address: dan, password_hasher: "md5" } },
  ]);
  expect(await accountOf(ann)).toMatchObject({ name: "Ann Example", verified: true, hasTotp: true });
  expect(await accountOf(bob)).toMatchObject({ name: null, verified: false });
  expect(await signIn(bob, "password")).toBe(200);
  expect(await signIn(cat, "user1password")).toBe(200);
  expect(await signIn(eve, BCRYPT_PASSWORD)).toBe(200);
});

test.each(["csv", "json"])("supabase: auth.users, then auth.identities, as %s", async (form) => {
  const [ann, bob] = [newEmail("ann"), newEmail("bob")];
  const [annId, bobId, subject] = [randomUUID(), randomUUID(), randomUUID()];
  const time = "2024-02-26 14:04:29.153624+00";
  const users = [
    {
      instance_id: "00000000-0000-0000-0000-000000000000",
      id: annId,
      email: ann,
      encrypted_password: BCRYPT,
      email_confirmed_at: time,
      raw_app_meta_data: '{"provider":"email","providers":["email","google"]}',
      raw_user_meta_data: '{"full_name":"Ann \\"A\\" Example"}',
      created_at: time,
      banned_until: "",
    },
    {
      instance_id: "00000000-0000-0000-0000-000000000000",
      id: bobId,
      email: bob,
      encrypted_password: "",
      email_confirmed_at: "",
      raw_app_meta_data: "{}",
      raw_user_meta_data: "{}",
      created_at: "2024-02-26 16:04:29+02",
      banned_until: "2999-01-01 00:00:00+00",
    },
    {
      instance_id: "00000000-0000-0000-0000-000000000000",
      id: randomUUID(),
      email: "",
      encrypted_password: "",
      email_confirmed_at: "",
      raw_app_meta_data: "{}",
      raw_user_meta_data: "{}",
      created_at: time,
      banned_until: "",
    },
  ];
  // Their email at the provider is another one.
  const identities = [
    { provider_id: annId, user_id: annId, identity_data: `{"sub":"${annId}"}`, provider: "email", email: ann },
    { provider_id: subject, user_id: annId, identity_data: "{}", provider: "google", email: newEmail("ann.work") },
    { provider_id: "", user_id: bobId, identity_data: `{"sub":"${subject}"}`, provider: "apple", email: "" },
    { provider_id: subject, user_id: randomUUID(), identity_data: "{}", provider: "github", email: newEmail("eve") },
  ];
  const toFile = (name: string, rows: Record<string, string>[]) =>
    newFile(
      `${name}.${form}`,
      form === "csv"
        ? toCsv([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))])
        : JSON.stringify(
            rows.map((row) => ({ ...row, raw_user_meta_data: JSON.parse(row.raw_user_meta_data ?? "{}") })),
          ),
    );
  const first = await importFile(await toFile("users", users), "--from", "supabase");
  expect(first.counts).toEqual({ created: 2, refused: 1 });
  expect(first.refused).toMatchObject([{ code: "required", field: "/email" }]);
  const file = await toFile("identities", identities);
  const second = await importFile(file, "--from", "supabase", "--on-conflict", "update");
  expect(second.counts).toEqual({ unchanged: 1, updated: 2, refused: 1 });
  expect(second.refused).toMatchObject([{ code: "required", field: "/email", record: { provider: "github" } }]);
  expect(await accountOf(ann)).toMatchObject({
    name: 'Ann "A" Example',
    verified: true,
    createdAt: "2024-02-26T14:04:29.153Z",
    externalId: annId,
    identities: [`google ${subject}`],
  });
  expect(await accountOf(bob)).toMatchObject({
    verified: false,
    disabled: true,
    createdAt: "2024-02-26T14:04:29.000Z",
    hasPassword: false,
    identities: [`apple ${subject}`],
  });
  expect(await signIn(ann, BCRYPT_PASSWORD)).toBe(200);
  const again = await importFile(file, "--from", "supabase", "--on-conflict", "update");
  expect(again.counts).toEqual({ unchanged: 3, refused: 1 });
});

/** Better Auth's scrypt of "Straße ﬁ ½ pass". */
const BETTER_AUTH =
  "000102030405060708090a0b0c0d0e0f:65505501ed81575529b2c361a93d40ba2884ba04c428fa431e39b87a304f6164586a89de740fbbc500493d042b7f26821c98275cc94c30989dd6785ea82ba846";

test("csv: Better Auth's tables user and account", async () => {
  const [ann, id, subject] = [newEmail("ann"), randomUUID(), randomUUID()];
  const users = [
    ["id", "name", "email", "emailVerified", "image", "createdAt", "updatedAt"],
    [id, "Ann\nExample, the first", ann, "1", "", "1708956269153", "1708956269153"],
  ];
  const accounts = [
    ["id", "accountId", "providerId", "userId", "password"],
    [randomUUID(), id, "credential", id, BETTER_AUTH],
    [randomUUID(), subject, "google", id, ""],
  ];
  const usersFile = await newFile("user.csv", toCsv(users));
  expect((await importFile(usersFile, "--from", "csv", "--columns", "externalId=id")).counts).toEqual({ created: 1 });
  const accountsFile = await newFile("account.csv", toCsv(accounts));
  const hashConfig = await newFile("hashes.json", '{ "format": "better-auth" }');
  const columns = "externalId=userId,provider=providerId,subject=accountId,password=password";
  const options = ["--columns", columns, "--hash-config", hashConfig, "--on-conflict", "update"];
  expect((await importFile(accountsFile, "--from", "csv", ...options)).counts).toEqual({ updated: 2 });
  expect(await accountOf(ann)).toMatchObject({
    name: "Ann\nExample, the first",
    verified: true,
    createdAt: "2024-02-26T14:04:29.153Z",
    externalId: id,
    identities: [`google ${subject}`],
  });
  expect(await signIn(ann, "Straße ﬁ ½ pass")).toBe(200);
});

test("csv: next-auth's tables, and Parse's", async () => {
  const [ann, bob, id, subject] = [newEmail("ann"), newEmail("bob"), randomUUID(), randomUUID()];
  const users = `id,name,email,emailVerified,image\n${id},Ann,${ann},2024-02-26 14:04:29.153,\n`;
  const nextAuth = await importFile(await newFile("User.csv", users), "--from", "csv", "--columns", "externalId=id");
  expect(nextAuth.counts).toEqual({ created: 1 });
  const links = `userId,type,provider,providerAccountId\n${id},oauth,github,${subject}\n`;
  const columns = "externalId=userId,provider=provider,subject=providerAccountId";
  const options = ["--from", "csv", "--columns", columns, "--on-conflict", "update"];
  expect((await importFile(await newFile("Account.csv", links), ...options)).counts).toEqual({ updated: 1 });
  expect(await accountOf(ann)).toMatchObject({ verified: true, identities: [`github ${subject}`] });

  const parse = `_id,email,emailVerified,_hashed_password,_created_at\n${subject},${bob},true,${BCRYPT},2019-12-06T18:36:12.412Z\n`;
  const parseColumns = "externalId=_id,password=_hashed_password,createdAt=_created_at";
  const { counts } = await importFile(await newFile("_User.csv", parse), "--from", "csv", "--columns", parseColumns);
  expect(counts).toEqual({ created: 1 });
  expect(await accountOf(bob)).toMatchObject({
    externalId: subject,
    verified: true,
    createdAt: "2019-12-06T18:36:12.412Z",
  });
  expect(await signIn(bob, BCRYPT_PASSWORD)).toBe(200);
});

test("the guide's records, as NDJSON and as CSV, are the same accounts", async () => {
  const examples = examplesOf("import-accounts");
  expect([...examples.keys()]).toEqual(["accounts.ndjson", "accounts.csv"]);
  const [ndjson = "", csv = ""] = examples.values();
  expect((await importFile(await newFile("accounts.ndjson", ndjson))).counts).toEqual({ created: 3 });
  expect(await accountOf("ann@example.com")).toMatchObject({ externalId: "usr_8f14e45f", hasPassword: true });
  const { counts } = await importFile(await newFile("accounts.csv", csv), "--from", "csv", "--on-conflict", "update");
  expect(counts).toEqual({ unchanged: 3 });
});

test("own records: twice changes nothing, and a dry run nothing at all", async () => {
  const [ann, bob] = [newEmail("ann"), newEmail("bob")];
  const password = { format: "bcrypt", hash: BCRYPT };
  const records = [
    { email: ann, externalId: randomUUID(), password },
    { email: bob, appUserIds: [createHash("sha256").update(bob).digest("hex")] },
  ];
  const file = await newFile("accounts.ndjson", `\uFEFF${toNdjson(records)}`);
  expect((await importFile(file, "--dry-run")).counts).toEqual({ created: 2 });
  expect(await ctx().db.account.count({ where: { email: { in: [ann, bob] } } })).toBe(0);
  expect((await importFile(file)).counts).toEqual({ created: 2 });
  expect((await importFile(file)).counts).toEqual({ unchanged: 2 });
  expect(await signIn(ann, BCRYPT_PASSWORD)).toBe(200);
  expect((await importFile(file, "--on-conflict", "update")).counts).toEqual({ unchanged: 2 });
});

test("a time without a zone is UTC, and one whose day and month are not plain is refused", async () => {
  const [ann, bob, eve] = ["ann", "bob", "eve"].map(newEmail) as [string, string, string];
  const table = `email,createdAt\n${ann},2024-03-01\n${bob},2024-03-01 09:00\n${eve},01/03/2024\n`;
  const { counts } = await importFile(await newFile("times.csv", table), "--from", "csv");
  expect(counts).toEqual({ created: 2, refused: 1 });
  expect(await accountOf(ann)).toMatchObject({ createdAt: "2024-03-01T00:00:00.000Z" });
  expect(await accountOf(bob)).toMatchObject({ createdAt: "2024-03-01T09:00:00.000Z" });
});
