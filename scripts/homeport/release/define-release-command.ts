import { homedir } from "node:os";
import path from "node:path";
import { Option } from "commander";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import { repeatable } from "../options";
import type { AdminApi } from "../transport/admin-api";
import { type OptionSpec, type OptionSpecs, resolveFromCaller, type Values } from "./options";
import type { ReleaseStore } from "./release-store";

/** Adds the catalog to the context of a command. `openStore` is called once the arguments are checked. */
export type ReleaseCommandContext = CommandContext & { openStore: () => Promise<ReleaseStore>; hasOwnCatalog: boolean };

/** A command of `homeport release`. Checks its arguments before it opens the store. @throws UsageError */
export type ReleaseCommand<Specs extends OptionSpecs> = (
  context: ReleaseCommandContext,
  values: Values<Specs>,
  positionals: string[],
) => Promise<void>;

const CATALOG: OptionSpec = { value: "file", help: "edit this catalog file instead of the service's" };

/** Adds a command, with `--catalog`. */
export function defineReleaseCommand<Specs extends OptionSpecs>(
  release: HomeportCommand,
  usage: string,
  summary: string,
  specs: Specs,
  run: ReleaseCommand<Specs>,
): void {
  const command = release.command(usage).description(summary);
  for (const [name, spec] of Object.entries<OptionSpec>({ ...specs, catalog: CATALOG })) {
    command.addOption(optionOf(name, spec));
    if (spec.isNegatable) command.addOption(named(new Option(`--no-${name}`, `undo --${name}`), name));
  }
  command.run(async (context, ...given: unknown[]) => {
    const values = given.at(-1) as Values<Specs> & { catalog?: string };
    const positionals = given
      .slice(0, -1)
      .flat()
      .filter((value) => value !== undefined) as string[];
    const { catalog } = values;
    const open = () => openStore(context.api, catalog);
    await run({ ...context, openStore: open, hasOwnCatalog: catalog !== undefined }, values, positionals);
  });
}

function optionOf(name: string, { value, help, isRepeatable }: OptionSpec): Option {
  const flags = value === undefined ? `--${name}` : `--${name} <${value}>`;
  return named(isRepeatable ? repeatable(flags, help) : new Option(flags, help), name);
}

/** Values have the names of their options, not names in camel case. */
function named(option: Option, name: string): Option {
  option.attributeName = () => name;
  return option;
}

/** The service's releases; with `--catalog` those of a file, which belongs to no service here. @throws UsageError */
async function openStore(api: AdminApi, catalog: string | undefined): Promise<ReleaseStore> {
  if (catalog === undefined) return openApiStore(api);
  if (process.env.HOMEPORT_URL) throw new UsageError("--catalog and HOMEPORT_URL are mutually exclusive.");
  const { openCatalogFile } = await import("./catalog-file-store");
  return openCatalogFile(resolveFromCaller(catalog));
}

async function openApiStore(api: AdminApi): Promise<ReleaseStore> {
  const [{ apiStore }, { createUploadIdStore }] = await Promise.all([import("./api-store"), import("./upload")]);
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  const isElsewhere = Boolean(process.env.HOMEPORT_URL);
  return apiStore(api, createUploadIdStore(path.join(cache, "homeport-release")), isElsewhere);
}
