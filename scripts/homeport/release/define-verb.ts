import { Option } from "commander";
import type { HomeportCommand, Tools } from "../command";
import { repeatable } from "../options";
import type { OptionSpec, OptionSpecs, Values } from "./options";
import { openStore } from "./store/open-store";
import type { ReleaseStore } from "./store/release-store";

/** What a verb works with. `openStore` is called once the arguments are checked. */
export type ReleaseTools = Tools & { openStore: () => Promise<ReleaseStore>; hasOwnCatalog: boolean };

/** A verb of `homeport release`. Checks its arguments before it opens the store. @throws UsageError */
export type Verb<Specs extends OptionSpecs> = (
  tools: ReleaseTools,
  values: Values<Specs>,
  positionals: string[],
) => Promise<void>;

const CATALOG: OptionSpec = { value: "file", help: "use this catalog file instead of the service's" };

/** Adds a verb, with `--catalog`. */
export function defineVerb<Specs extends OptionSpecs>(
  release: HomeportCommand,
  usage: string,
  summary: string,
  specs: Specs,
  run: Verb<Specs>,
): void {
  const command = release.command(usage).description(summary);
  for (const [name, spec] of Object.entries<OptionSpec>({ ...specs, catalog: CATALOG })) {
    command.addOption(optionOf(name, spec));
    if (spec.isNegatable) command.addOption(named(new Option(`--no-${name}`, `undo --${name}`), name));
  }
  command.run(async (tools, ...given: unknown[]) => {
    const values = given.at(-1) as Values<Specs> & { catalog?: string };
    const positionals = given
      .slice(0, -1)
      .flat()
      .filter((value) => value !== undefined) as string[];
    const { catalog } = values;
    const open = () => openStore(tools.api, catalog);
    await run({ ...tools, openStore: open, hasOwnCatalog: catalog !== undefined }, values, positionals);
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
