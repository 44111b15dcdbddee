import { expect, test } from "vitest";
import { COMMAND_GROUPS } from "@/scripts/homeport/command-groups";
import { COMMANDS, runCommand, usageOf } from "@/tests/support/process/command";

/** One of the groups of `homeport`: tests/scripts checks the others. */
const NAMES = [...COMMANDS.keys()].filter((name) => name === "keys" || !(name in COMMAND_GROUPS));
/** A data folder that cannot be written. */
const env = { DATA_DIR: "/proc/none" };

test("the commands are found in package.json", () => {
  expect([...COMMANDS.keys()]).toEqual(expect.arrayContaining(["accounts", "billing", "db:migrate", "release"]));
});

test.each(NAMES)("npm run %s -- --help prints its usage and does nothing", async (name) => {
  const { code, stdout, stderr } = await runCommand(name, ["--help"], env);
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: expect.stringContaining(usageOf(name)) });
});

test.each(NAMES)("npm run %s rejects an unknown argument with exit code 2 and its usage", async (name) => {
  const { code, stderr } = await runCommand(name, ["no such argument"], env);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(usageOf(name)) });
});
