import { expect, test } from "vitest";
import type { Grant, GrantChange } from "@/lib/subscriptions/grants/schema";
import { newAccount } from "@/tests/support/accounts";
import { newFile, runHomeport } from "@/tests/support/import-command";

type Line = { line: number; email: string; status: string };

const run = <Result>(...args: string[]) => runHomeport<Result>(["billing:write"], "billing", ...args);

test("a grant is given, listed and ended by commands, with a key for billing alone", async () => {
  const { id } = await newAccount();
  const { grant } = (await run<GrantChange>("grant", id, "pro", "--until", "2999-01-31", "--reason", "Speaker")).result;
  expect(grant).toMatchObject({ accountId: id, entitlementId: "pro", endsAt: "2999-01-31T00:00:00.000Z" });
  expect((await run<GrantChange>("end-grant", grant.id, "--reason", "mistake")).result.isChanged).toBe(true);
  expect((await run<GrantChange>("end-grant", grant.id)).result.isChanged).toBe(false);
  expect((await run<Grant[]>("grants", id)).result).toMatchObject([
    { id: grant.id, isActive: false, granted: { reason: "Speaker" }, ended: { reason: "mistake" } },
  ]);
});

test("a file is read by its column email, or by its first one without a heading, and reported line by line", async () => {
  const [ann, bob] = [await newAccount(), await newAccount()];
  const table = await newFile(
    "beta.csv",
    `\ufeffname;Email\r\n"Example;\nAnn";${ann.email}\r\n\r\n;;\r\nBob;nobody@example.com\r\n`,
  );
  const grant = ["grant", "beta", "--days", "30", "--reason", "Beta", "--file"];
  const lines = (status: string) => [
    { line: 3, status, email: ann.email },
    { line: 6, status: "unknown_account", email: "nobody@example.com" },
  ];
  const dry = await run<Line[]>(...grant, table, "--dry-run");
  expect(dry).toEqual({ result: lines("granted"), notes: ["Would be: 1 granted, 0 unchanged, 1 unknown."] });
  expect((await run<Line[]>(...grant, table)).result).toEqual(lines("granted"));
  expect((await run<Line[]>(...grant, table)).result).toEqual(lines("unchanged"));
  const list = await newFile("list.txt", [ann, bob].map(({ email }) => `${email}, ${email.length}\n`).join(""));
  expect((await run<Line[]>(...grant, list)).result).toEqual([
    { line: 1, status: "unchanged", email: ann.email },
    { line: 2, status: "granted", email: bob.email },
  ]);
});

test("more emails than a request takes are granted by several, and each line once", async () => {
  const { email } = await newAccount();
  const others = Array.from({ length: 450 }, (_, i) => `nobody-${i}@example.com`);
  const file = await newFile("many.csv", ["email", email, ...others, email].join("\n"));
  const { result, notes } = await run<Line[]>("grant", "beta", "--lifetime", "--reason", "Beta", "--file", file);
  expect([result.length, result[0]?.status, result.at(-1)]).toEqual([
    452,
    "granted",
    { line: 453, status: "unchanged", email },
  ]);
  expect(notes).toEqual(["1 granted, 1 unchanged, 450 unknown."]);
});

test.each([
  ["a missing file", "/nonexistent.csv", "ENOENT"],
  ["a device", "/dev/zero", "Max Record Size"],
])("%s is refused", async (_, file, message) => {
  await expect(run("grant", "beta", "--days", "1", "--reason", "x", "--file", file)).rejects.toThrow(message);
});
