import { type Argument, Command } from "commander";
import { secretOf } from "../../lib/platform/config/secrets";
import { UsageError } from "../command-line";
import { createOutput, type Output } from "./output";
import { commandVersion, openServiceHere } from "./service-folder";
import { type AdminApi, createAdminApi } from "./transport/admin-api";
import { type Authorize, createHttpClient, type HttpClient } from "./transport/http-client";
import type { InputOf, OperationId, ResultOf } from "./transport/operations";
import { versionNotice } from "./transport/version-notice";

export type CommandContext = { api: AdminApi; output: Output };

/**
 * A command of `homeport`, or a group of them. Each that runs something has `--json`. Whatever is wrong with the arguments is
 * thrown, and reported in one place.
 */
export class HomeportCommand extends Command {
  constructor(name?: string) {
    super(name);
    this.exitOverride();
    this.configureOutput({ outputError: () => {} });
    this.helpOption("-h, --help", "show this help");
    this.helpCommand(false);
    this.configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(shown)].join(" "),
    });
  }

  override createCommand(name?: string): HomeportCommand {
    return new HomeportCommand(name);
  }

  /**
   * Runs `handle` with the arguments in their order, and the options last. The API is opened by its first request, so
   * that arguments can be refused before.
   */
  run<Args extends unknown[]>(handle: (context: CommandContext, ...args: Args) => Promise<void>): this {
    this.option("--json", "print JSON");
    return this.action(async (...given: unknown[]) => {
      const args = given.slice(0, -1) as Args;
      const { json = false, product } = this.opts<{ json?: boolean; product?: unknown }>();
      const { api, close } = await openAdminApi(typeof product === "string" ? product : undefined);
      try {
        await handle({ api, output: createOutput(json) }, ...args);
      } finally {
        await close();
      }
    });
  }

  /** Calls one operation with what `input` makes of the arguments, and prints its result: as text, one line. */
  calls<Id extends OperationId, Args extends unknown[]>(
    id: Id,
    call: { input: (...args: Args) => InputOf<Id>; prints: (result: ResultOf<Id>, ...args: Args) => string },
  ): this {
    return this.run<Args>(async ({ api, output }, ...args) => {
      const result = await api.call(id, call.input(...args));
      output.result(result, [call.prints(result, ...args)]);
    });
  }
}

/** An argument as the help shows it. */
export const shown = (argument: Argument) => {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

/** Adds the commands of a group, such as `create` to `homeport keys`. */
export type DefineCommandGroup = (group: HomeportCommand) => void;

/**
 * Opens the admin API: of the service at HOMEPORT_URL, with HOMEPORT_API_KEY or as the CI job that this is, for the product;
 * else of the one in this folder.
 * @throws UsageError for a HOMEPORT_URL that cannot be used, or without a credential for it
 */
async function openAdminApi(product: string | undefined): Promise<{ api: AdminApi; close: () => Promise<void> }> {
  const { HOMEPORT_URL } = process.env;
  if (HOMEPORT_URL) {
    return openServiceAt(
      HOMEPORT_URL,
      apiKey() ?? (await import("./transport/job-access")).authorizeJob(HOMEPORT_URL, process.env, product),
    );
  }
  const { client, close } = openServiceHere();
  return { api: createAdminApi(client), close };
}

/** @throws UsageError for a key that fits into no header, whose error would show it; Error with the code configuration_invalid */
function apiKey(): string | undefined {
  const key = secretOf(process.env, "HOMEPORT_API_KEY")?.trim();
  if (key === undefined || /^[!-~]+$/.test(key)) return key;
  throw new UsageError(
    "HOMEPORT_API_KEY must be one API key. It has a space, a line break or another character that no key has.",
  );
}

/** The service at a URL. If it has another version than this command line, `close` says so. */
function openServiceAt(baseUrl: string, credential: string | Authorize): { api: AdminApi; close: () => Promise<void> } {
  let notice: Promise<string | null> | undefined;
  const client: HttpClient = createHttpClient(baseUrl, async () => {
    notice ??= versionNotice(client.url, commandVersion());
    return typeof credential === "string" ? credential : credential();
  });
  const close = async () => {
    const text = await notice;
    if (text) process.stderr.write(`${text}\n`);
  };
  return { api: createAdminApi(client), close };
}
