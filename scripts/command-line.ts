import { existsSync } from "node:fs";

/** The arguments do not fit the command. Its message is printed with the help text, and the exit code is 2. */
export class UsageError extends Error {}

/**
 * Runs a command line on the process's arguments, with the variables of `.env` set. `--help`, `-h` and `help` print the
 * help text. The exit code is 0, or what `run` set; 1 where `run` throws, 2 where it throws a `UsageError` or
 * `util.parseArgs` refuses the arguments. With `--json`, an error is also written to the standard output, as
 * `{ "error": { "code", "message" } }`.
 */
export async function runCommandLine(help: string, run: (args: string[]) => Promise<void>): Promise<void> {
  const args = process.argv.slice(2);
  if (args[0] === "help" || args.includes("--help") || args.includes("-h")) return console.log(help);
  try {
    if (existsSync(".env")) process.loadEnvFile(".env");
    await run(args);
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    const isUsage = error instanceof UsageError || code?.startsWith("ERR_PARSE_ARGS");
    console.error(isUsage ? `${message}\n\n${help}` : message || error);
    process.exitCode = isUsage ? 2 : 1;
    if (!args.includes("--json")) return;
    console.log(
      JSON.stringify({ error: { code: isUsage ? "invalid_arguments" : (code ?? "internal_error"), message } }),
    );
  }
}

/**
 * The service's base URL from an argument, without a slash at its end; `fallback` where there is none.
 * @throws UsageError for more than one argument, or one that is not an http or https URL
 */
export function baseUrlFrom(args: string[], fallback: string): string {
  const [given = fallback, ...rest] = args;
  const protocol = URL.canParse(given) ? new URL(given).protocol : null;
  if (rest.length > 0 || (protocol !== "http:" && protocol !== "https:")) {
    throw new UsageError(`Not a base URL: ${args.join(" ")}`);
  }
  return given.replace(/\/+$/, "");
}

/** Rejects arguments for a command that takes none. @throws UsageError */
export function assertNoArguments(args: string[]): void {
  if (args.length > 0) throw new UsageError(`Unknown argument: ${args.join(" ")}`);
}
