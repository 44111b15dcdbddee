import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";

/** Calls the function that `complete` has registered, as bash does when somebody presses Tab. */
const DRIVER = `
eval "$SCRIPT"
[[ $(complete -p homeport) =~ -F\\ ([^ ]+)\\ homeport$ ]] || exit 1
COMP_WORDS=(homeport "$@") COMP_CWORD=$#
"\${BASH_REMATCH[1]}"
echo "\${COMPREPLY[@]}"`;

let printed: ReturnType<typeof runCommand> | undefined;
/** The script for bash. It is printed once. */
async function bashScript(): Promise<string> {
  printed ??= runCommand("homeport", ["completion", "bash"]);
  const { code, stdout } = await printed;
  expect(code).toBe(0);
  return stdout;
}

/** What bash offers for the last of the words. */
async function complete(...words: string[]): Promise<string[]> {
  const env = { PATH: process.env.PATH ?? "", SCRIPT: await bashScript(), NODE_ENV: "test" } as const;
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-c", DRIVER, "bash", ...words], { env });
  return stdout.trim().split(" ").filter(Boolean);
}

test.each([
  [["ke"], ["keys"]],
  [
    ["keys", ""],
    ["create", "list", "revoke"],
  ],
  [["keys", "list", "--j"], ["--json"]],
  [["keys", "create", "CI", "--scope", "releases:w"], ["releases:write"]],
  [["keys", "create", "--scope", "audit:read", "--ex"], ["--expires"]],
  [["release", "add", "--notes", "keys"], []],
  [["nothing"], []],
])("bash completes %j to %j", async (words, completed) => {
  expect(await complete(...words)).toEqual(completed);
});

test("the script for zsh loads its emulation of bash first", async () => {
  const { stdout } = await runCommand("homeport", ["completion", "zsh"]);
  expect(stdout).toContain("bashcompinit");
  expect(stdout.endsWith(await bashScript())).toBe(true);
});
