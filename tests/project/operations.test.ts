import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { FORM_OPERATIONS } from "@/app/forms/console/operations";
import type { AnyDeclaration } from "@/lib/operation";

type Declared = AnyDeclaration & { id?: string };
// Without a type argument: Vitest must see the call as it is, to compile this file anew when a file is added.
const modules = import.meta.glob("/lib/**/operations.ts", { eager: true }) as Record<
  string,
  Record<string, Record<string, Declared>>
>;
const declared = Object.values(modules).flatMap((exported) => Object.values(exported).flatMap(Object.values));
const idsOf = (operations: Declared[]) => operations.map(({ id }) => id).sort();

test("every operation with a form is one of the console, by its own id", () => {
  const withForm = idsOf(declared.filter(({ form }) => form));
  const listed = FORM_OPERATIONS.map(({ operation }) => operation.id);
  expect(withForm.length).toBeGreaterThan(30);
  expect(listed.filter((id) => id !== "forgetShownSecret").sort()).toEqual(withForm);
  expect(new Set(listed).size).toBe(listed.length);
});

test("every form but these requires an admin", () => {
  const others = FORM_OPERATIONS.filter(({ operation }) => operation.role !== "admin");
  expect(others.map(({ operation: { id, role } }) => [id, role])).toEqual([
    ["endAccountSessions", "support"],
    ["endAccountSession", "support"],
    ["grantEntitlement", "support"],
    ["endGrant", "support"],
    ["verifyVersion", "support"],
    ["forgetShownSecret", "support"],
  ]);
});

/** The operations that a key may call, by whether its scope lets it read or change. */
const [reading, changing] = [/:read$/, /:(write|send)$/].map((scope) =>
  declared.filter((operation) => scope.test(operation.scope ?? "")),
) as [Declared[], Declared[]];

test("support reads, and changes nothing but whether somebody is signed in and what they are granted", () => {
  const forAdmins = idsOf(reading.filter(({ role }) => role !== "support"));
  expect(forAdmins).toEqual(["downloadAuditEvents", "listAuditEvents"]);
  expect(reading.length).toBeGreaterThan(25);
  expect(idsOf(changing.filter(({ role }) => role !== "admin"))).toEqual([
    "endAccountSession",
    "endAccountSessions",
    "endGrant",
    "grantEntitlement",
  ]);
});

test("a change requires a fresh authentication of its admin, except for the parts of an upload", () => {
  expect(changing.length).toBeGreaterThan(40);
  const uploads = ["appendToUpload", "createUpload", "readUpload", "removeUpload"];
  expect(idsOf(changing.filter(({ stepUp }) => !stepUp))).toEqual(uploads);
});

test("the proxies pass on the largest body that operators send", async () => {
  const [largest = 0] = declared.flatMap(({ maxBodyBytes }) => maxBodyBytes ?? []).sort((a, b) => b - a);
  const limitIn = async (file: string, pattern: RegExp) =>
    Number(pattern.exec(await readFile(file, "utf8"))?.[1]) * 1e6;
  const limits = [
    await limitIn("deploy/nginx.conf", /location \/api\/admin\/ \{[^}]* client_max_body_size (\d+)m;/),
    await limitIn("deploy/Caddyfile", /request_body @operators \{\s+max_size (\d+)MB/),
  ];
  for (const limit of limits) expect(limit).toBeGreaterThan(largest);
});
