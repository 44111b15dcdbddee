import { type Command, CommanderError } from "commander";
import { UsageError } from "../command-line";
import { HomeportCommand } from "./command";
import { COMMAND_GROUPS } from "./command-groups";
import { HELP_AFTER } from "./commands/manual";
import { commandVersion, loadSettings } from "./service-folder";

/** They describe all commands. */
const WHOLE = ["completion", "manual"];

/** The commands of one group; without a known one, the names of all groups. */
async function createProgram(groupName: string | undefined): Promise<HomeportCommand> {
  const program = new HomeportCommand("homeport").description("Operates a Homeport service.").enablePositionalOptions();
  program.version(commandVersion(), "-V, --version", "show the version").addHelpText("after", HELP_AFTER);
  const isWhole = groupName !== undefined && WHOLE.includes(groupName);
  for (const [name, { summary, load }] of Object.entries(COMMAND_GROUPS)) {
    const group = program.command(name).description(summary);
    if (name === groupName || isWhole) (await load())(group);
  }
  return program;
}

/** Runs the command line. Sets the exit code: 1 if the command failed, 2 if its arguments do not fit it. */
async function main(args: string[]): Promise<void> {
  const isHelp = args[0] === "help";
  const given = isHelp ? [...args.slice(1), "--help"] : args;
  let program: HomeportCommand | undefined;
  try {
    loadSettings();
    program = await createProgram(given[0]);
    await program.parseAsync(given.length === 0 ? ["--help"] : given, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return; // --help, --version
    report(error as Error & { code?: string }, given, usageOf(program, given));
  }
}

function report(error: Error & { code?: string }, args: string[], usage: string): void {
  const isUsage = error instanceof UsageError || error instanceof CommanderError;
  const code = isUsage ? "invalid_arguments" : (error.code ?? "internal_error");
  const isHelp = error.code === "commander.help"; // a group without a command, after its help
  const message = isHelp ? "No command was given." : error.message.replace(/^error: /, "") || String(error);
  process.exitCode = isUsage ? 2 : 1;
  console.error(message);
  if (isUsage) console.error(`\nRun \`${usage}\` to see the usage.`);
  if (args.includes("--json")) console.log(JSON.stringify({ error: { code, message } }));
}

/** The command line that shows the usage of the command which the arguments name. */
function usageOf(program: HomeportCommand | undefined, args: string[]): string {
  const names = ["homeport"];
  for (let command: Command | undefined = program; command; ) {
    const next: Command | undefined = command.commands.find((one) => one.name() === args[names.length - 1]);
    if (next) names.push(next.name());
    command = next;
  }
  return [...names, "--help"].join(" ");
}

main(process.argv.slice(2)).finally(() => process.exit());
