import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { read } from "@/tests/support/sources";

const LINTER = "dev/lint-advisories.mjs";
const ADVISORIES = "dev/advisories.json";

type Advisory = { id: string; package: string; affected: string; published: string };
const { date, advisories } = JSON.parse(read(ADVISORIES)) as { date: string; advisories: Advisory[] };

type Lock = { packages: Record<string, { version?: string; dev?: boolean; optional?: boolean }> };

/** What the linter prints and its exit code, for our lock file after `change`, with our advisories or others. */
function lint(change: (lock: Lock) => void = () => {}, others?: object) {
  const folder = mkdtempSync(path.join(tmpdir(), "advisories-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lock = JSON.parse(read("package-lock.json")) as Lock;
  change(lock);
  writeFileSync(path.join(folder, "lock.json"), JSON.stringify(lock));
  writeFileSync(path.join(folder, "advisories.json"), others ? JSON.stringify(others) : read(ADVISORIES));
  const args = [LINTER, path.join(folder, "lock.json"), path.join(folder, "advisories.json")];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

const oldMailer = (lock: Lock) => {
  lock.packages["node_modules/nodemailer"] = { version: "7.0.13" };
};

test("no package of a production installation has an advisory that is older than 30 days", () => {
  expect(lint()).toEqual({ status: 0, stdout: "", stderr: "" });
});

test("a vulnerable package fails, with the advisory and the version that fixes it", () => {
  const { status, stdout } = lint(oldMailer);
  expect(status).toBe(1);
  expect(stdout).toContain("error: nodemailer 7.0.13 has GHSA-2x7j-588g-ccc2");
  expect(stdout).toContain("Fixed in 9.1.0: https://github.com/advisories/GHSA-2x7j-588g-ccc2");
  expect(stdout).not.toContain("GHSA-mm7p-fcc7-pg87"); // fixed in 7.0.7
});

test("so does one below another package, and an optional one", () => {
  const nested = lint((lock) => {
    lock.packages["node_modules/next/node_modules/nodemailer"] = { version: "7.0.13", optional: true };
  });
  expect(nested.status).toBe(1);
});

test("a vulnerable package of the development tools passes", () => {
  const { status, stdout } = lint((lock) => {
    lock.packages["node_modules/smtp-server/node_modules/nodemailer"] = { version: "7.0.13", dev: true };
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test.each([
  ["2026-10-29", 0, "warning"], // 30 days before
  ["2026-10-28", 1, "error"],
])("an advisory of %s, seen on 2026-11-28, ends with %d: %s", (published, status, level) => {
  const advisory = { ...advisories.find(({ id }) => id === "GHSA-2x7j-588g-ccc2"), published };
  expect(lint(oldMailer, { date: "2026-11-28", advisories: [advisory] })).toMatchObject({
    status,
    stdout: expect.stringMatching(new RegExp(`^${level}: nodemailer 7\\.0\\.13 `)),
  });
});

test.each([
  [{ affected: "before 8" }, "Invalid comparator"],
  [{ published: "soon" }, '"soon" is not a day'],
])("an advisory with %j is refused, not passed over", (change, message) => {
  const { status, stderr } = lint(undefined, { date, advisories: [{ ...advisories[0], ...change }] });
  expect(status).toBe(1);
  expect(stderr).toContain(message);
});
