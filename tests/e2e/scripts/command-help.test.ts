import { expect, test } from "vitest";
import { COMMANDS, runCommand } from "@/tests/support/process/command";

const NAMES = [...COMMANDS.keys()];
/** A data folder that cannot be written. */
const env = { DATA_DIR: "/proc/none" };

/** How a command calls itself in its usage. */
const usageOf = (name: string) => (name === "homeport" ? "homeport" : `npm run ${name}`);

test("the commands are found in package.json", () => {
  expect(NAMES).toEqual(expect.arrayContaining(["homeport", "db:migrate", "tour", "device"]));
});

test.each(NAMES)("%s --help prints its usage and does nothing", async (name) => {
  const { code, stdout, stderr } = await runCommand(name, ["--help"], env);
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: "", stdout: expect.stringContaining(usageOf(name)) });
});
