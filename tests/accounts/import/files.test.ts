import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test, vi } from "vitest";
import { ctx } from "@/tests/support/context";
import { importFile, newFile, type RefusedRecord } from "@/tests/support/import-command";

const newEmail = () => `moved-${randomUUID()}@example.com`;
const countOf = (emails: string[]) => ctx().db.account.count({ where: { email: { in: emails } } });
const LONG = "x".repeat(1024 * 1024);

/** Mends the records of a file of refused ones, by a program with a style of its own, and imports them with the same options. */
async function mend(file: string, change: (record: RefusedRecord["record"]) => unknown, ...args: string[]) {
  const lines = (await readFile(`${file}.refused.ndjson`, "utf8")).trim().split("\n");
  const mended = lines.map((line) => JSON.parse(line)).map((one) => ({ ...one, record: change(one.record) }));
  const texts = mended.map((one) =>
    JSON.stringify(one).replace('{"line":', '{ "line": ').replace(',"code":', ', "code": '),
  );
  return importFile(await newFile("mended", texts.join("\n")), ...args);
}

describe("records that are refused stop no other, and can be mended and sent again", () => {
  test("NDJSON", async () => {
    const emails = [newEmail(), newEmail(), newEmail()];
    const file = await newFile(
      "accounts.ndjson",
      [
        `{"email":"${emails[0]}"}`,
        "",
        "not JSON",
        `{"email":"${newEmail()}","name":"${LONG}"}`,
        Buffer.from([0x7b, 0xff, 0x7d]).toString("latin1"),
        '["a list"]',
        `{"email":"${emails[1]}","nickname":"Ann"}`,
        `{"email":"${emails[2]}"}`,
      ].join("\r\n"),
    );
    const { counts, refused, notes } = await importFile(file);
    expect(counts).toEqual({ created: 2, refused: 5 });
    expect(refused.map(({ line, code }) => [line, code])).toEqual([
      [3, "malformed_json"],
      [4, "too_big"],
      [5, "malformed_json"],
      [6, "malformed_json"],
      [7, "unrecognized_keys"],
    ]);
    expect(refused[0]?.record).toBe("not JSON");
    expect(refused[1]?.record).toBeNull();
    expect(notes.join()).toContain(`${file}.refused.ndjson`);
    const again = await mend(file, (record) => (typeof record === "object" ? record && { email: emails[1] } : record));
    expect(again.counts).toEqual({ created: 1, refused: 4 });
    expect(await countOf(emails)).toBe(3);
  });

  test("CSV", async () => {
    const emails = [newEmail(), newEmail(), newEmail(), newEmail()];
    const rows = [
      "Email,Name,Id",
      `${emails[0]},"Ann ""A""\r\nExample",1-${randomUUID()}`,
      "not an email,Bob,2",
      `${emails[1]},Cat`,
      `${emails[2]},Dan, the first,3-${randomUUID()}`,
      `${newEmail()},${LONG},4`,
      `${emails[3]},Eve,5-${randomUUID()}`,
    ];
    const file = await newFile("users.csv", rows.join("\r\n"));
    const options = ["--from", "csv", "--columns", "email=Email,name=Name,externalId=Id"];
    const { counts, refused } = await importFile(file, ...options);
    expect(counts).toEqual({ created: 2, refused: 4 });
    expect(refused).toMatchObject([
      { line: 4, code: "invalid_format", field: "/email", record: { Email: "not an email", Name: "Bob", Id: "2" } },
      { line: 5, code: "malformed_csv", record: { Email: emails[1], Name: "Cat", Id: "" } },
      { line: 6, code: "malformed_csv", record: { Email: emails[2], Name: "Dan", Id: " the first" } },
      { line: 7, code: "too_big", record: null },
    ]);
    const change = (record: unknown) => record && { ...record, Id: randomUUID() };
    expect((await mend(file, change, ...options)).counts).toEqual({ created: 2, refused: 2 });
    expect(await countOf(emails)).toBe(4);
  });

  test("an array in JSON", async () => {
    const emails = [newEmail(), newEmail()];
    const users = [
      `{"localId":"1-${randomUUID()}","email":"${emails[0]}","customAttributes":"{\\"a\\":[1]}"}`,
      `{"localId":"2","email":"${newEmail()}","photoUrl":"${LONG}"}`,
      `{"localId":"3-${randomUUID()}","email":"nobody"}`,
      `{"localId":"4", oops}`,
    ];
    const file = await newFile("users.json", `{"users":[\n${users.join(",\n")}\n]}`);
    const { counts, refused } = await importFile(file, "--from", "firebase");
    expect(counts).toEqual({ created: 1, refused: 3 });
    expect(refused.map(({ line, code }) => [line, code])).toEqual([
      [3, "too_big"],
      [4, "invalid_format"],
      [5, "malformed_json"],
    ]);
    const change = (record: unknown) =>
      typeof record === "object" && record ? { ...record, email: emails[1] } : record;
    expect((await mend(file, change, "--from", "firebase")).counts).toEqual({ created: 1, refused: 2 });
  });
});

test("a record whose hash is refused, and one that another account claims, are refused by the source's own form", async () => {
  const [email, id] = [newEmail(), randomUUID()];
  const records = [
    { email, externalId: id },
    { email: newEmail(), externalId: id },
  ];
  const file = await newFile("accounts.ndjson", records.map((record) => JSON.stringify(record)).join("\n"));
  const { counts, refused } = await importFile(file);
  expect(counts).toEqual({ created: 1, refused: 1 });
  expect(refused).toEqual([{ line: 2, code: "id_taken", field: "/externalId", record: records[1] }]);
});

const NDJSON = '{"email":"ann@example.com"}\n';
const HASH_CONFIG = "hash_config { base64_signer_key: a, base64_salt_separator: Bw==, rounds: 8, mem_cost: 14 }";

describe("a file that is not what --from names is refused with the line and what was expected", () => {
  test.each([
    ["", [], "line 1: expected a JSON object"],
    ["\n\n[1]\n", [], "line 3: expected a JSON object"],
    ["name,email\n", [], "line 1: expected a JSON object"],
    ['{"users":[]}\n', [], "line 1: expected a record with email or "],
    [Buffer.from(`\uFEFF${NDJSON}`, "utf16le"), [], "line 1: expected UTF-8"],
    [NDJSON, ["--from", "firebase"], 'line 1: expected JSON with an array "users" of objects'],
    ['{"users":{}}', ["--from", "firebase"], 'line 1: expected JSON with an array "users" of objects'],
    ['{"users":[\n{"localId":"1"},\n7]}', ["--from", "firebase"], 'line 3: expected JSON with an array "users"'],
    ['{"users":[\n{"localId":"1"},\n', ["--from", "firebase"], 'line 3: expected JSON with an array "users"'],
    ['{"users":[{"id":"1"}]}', ["--from", "firebase"], "line 1: expected a record with localId"],
    ["email\nann@example.com\n", ["--from", "auth0"], "line 1: expected a JSON object"],
    ["id,email\n1,ann@example.com\n", ["--from", "clerk"], "line 2: expected a record with primary_email_address"],
    [NDJSON, ["--from", "supabase"], "line 1: expected the heading of CSV"],
    ["id\n1\n", ["--from", "csv"], "line 2: expected a record with email or externalId"],
    ["email\na@b.c\n", ["--from", "csv", "--columns", "name=Name"], "line 2: expected a record with Name"],
    ['email,name\na@b.c,"Ann\n\n', ["--from", "csv"], "line 2: expected a closing quotation mark"],
  ])("%j %j", async (content, args, message) => {
    const file = await newFile("accounts", content);
    await expect(importFile(file, ...args)).rejects.toThrow(`${file}, ${message}`);
  });

  test("and so is one that is not there", async () => {
    await expect(importFile("/nowhere/accounts.ndjson")).rejects.toThrow("/nowhere/accounts.ndjson is not a file");
  });

  test.each([
    [HASH_CONFIG, "csv", "--hash-config: format must be one of bcrypt"],
    ["hash_config { rounds: 8 }", "firebase", "base64_signer_key, base64_salt_separator, rounds and mem_cost"],
  ])("%s for %s", async (config, from, message) => {
    const hashConfig = await newFile("hashes", config);
    const user = { localId: "1", email: newEmail(), passwordHash: "a", salt: "b" };
    const file = await newFile("users", JSON.stringify({ users: [user] }));
    await expect(importFile(file, "--from", from, "--hash-config", hashConfig)).rejects.toThrow(message);
  });
});

test("an empty table and an empty array have no accounts", async () => {
  expect((await importFile(await newFile("users.csv", "email\n"), "--from", "csv")).counts).toEqual({});
  expect((await importFile(await newFile("users.json", '{"users": []}'), "--from", "firebase")).counts).toEqual({});
});

test("a run that stopped goes on where it was, unless the service no longer has what it was sent", async () => {
  const emails = Array.from({ length: 1_500 }, newEmail);
  const file = await newFile("users.csv", `email\n${emails.join("\n")}\n"${newEmail()}`);
  const stopped = async () => {
    const imported = importFile(file, "--from", "csv");
    await expect(imported).rejects.toThrow("line 1502: expected a closing quotation mark");
    const { line, counts } = JSON.parse(await readFile(`${file}.progress`, "utf8"));
    return [line, counts.created, counts.unchanged, await countOf(emails)];
  };
  expect(await stopped()).toEqual([1_001, 1_000, 0, 1_000]);
  await ctx().db.account.deleteMany({ where: { email: emails[0] } });
  expect(await stopped()).toEqual([1_001, 1_000, 0, 999]);
  await ctx().db.account.deleteMany({ where: { email: emails[999] } });
  expect(await stopped()).toEqual([1_001, 2, 998, 1_000]);
});

test("a file is found from the folder in which the command was called", async () => {
  const file = await newFile("accounts.ndjson", `{"email":"${newEmail()}"}`);
  vi.stubEnv("INIT_CWD", path.dirname(file)); // as `homeport` on the PATH does, which runs in the service's folder
  expect((await importFile("accounts.ndjson")).counts).toEqual({ created: 1 });
});
